#pragma once

#include "core/engine/parallel/parallelism.h"

#include <functional>

namespace tilescope::engine {

/// Makes a weight smaller: its name, the weight, and its map or null.
using WeightCut = std::function<at::Tensor(const std::string&, const at::Tensor&, const LinearMap*)>;

/// Fully sharded data parallelism (Zhao et al., 2023): each rank keeps a part of every weight, of its gradient and of its
/// optimizer state.
///
/// The weights of a block are gathered before its forward and its backward and freed after; meanwhile those of the next
/// block in that order are gathered. Its gradients are summed and scattered in backward, while the next block's are made.
/// Weights outside of blocks are gathered once per step: the embedding is freed before the first block, the others when
/// their gradients are made. Matrices are gathered in the type that products compute with.
/// \param ranks  that divide the weights
/// \param cut    applied before a weight is divided; may be empty
std::unique_ptr<Parallelism> makeShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut = {});

} // namespace tilescope::engine
