#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/spec.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace tilescope::engine {

class Ranks;

/// Combines the gradients of data-parallel ranks, so that each rank gets the gradients of one process with
/// the batches of all: their mean if the loss is a mean over tokens, their sum if it is a sum. Session thread.
class GradientCombiner {
public:
    virtual ~GradientCombiner() = default;
    GradientCombiner() = default;
    GradientCombiner(const GradientCombiner&) = delete;
    GradientCombiner& operator=(const GradientCombiner&) = delete;

    /// Call after each backward; when it returns, the gradients are combined.
    /// \throws LostRank (failure.h)
    virtual void finish() = 0;
    virtual void visitHeld(const HoldVisitor& /*visit*/) const {}
};

/// The combiner of `spec.parallel`. Every parameter gets one gradient per backward.
/// \param ranks  outlives it
std::unique_ptr<GradientCombiner>
makeGradientCombiner(const ExperimentSpec& spec, const std::vector<at::Tensor>& parameters, Ranks& ranks);

} // namespace tilescope::engine
