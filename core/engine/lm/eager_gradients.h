#pragma once

#include "core/engine/lm/lm.h"
#include "core/engine/lm/token_batch.h"

#include <vector>

namespace tilescope::engine {

class Device;

// What other implementations of the model are compared with.

/// The result of one step of the eager model.
struct EagerGradients {
    at::Tensor output;                 ///< the loss; the logits in mode forward
    std::vector<at::Tensor> gradients; ///< of the parameters, in their order; none in mode forward
};

/// \param gradient  of the loss
EagerGradients eagerGradients(const ExperimentSpec& spec, const Device& device, LanguageModel& model,
                              const TokenBatch& batch, const at::Tensor& gradient);

/// |a - b| / |b| in the Euclidean norm; 0 if both are 0.
double relativeDifference(const at::Tensor& a, const at::Tensor& b);

/// How much outputs and gradients of two implementations of the model may differ, relative to their norms, if they
/// differ only in the order of sums and in what is rounded.
///
/// About 30 roundings to the precision of products lie on the path through a layer, forward and backward, and as many
/// sums of K terms in fp32. They are independent, so their effects add up like the steps of a random walk; the bound is
/// four standard deviations.
double roundingBound(const ExperimentSpec& spec);

} // namespace tilescope::engine
