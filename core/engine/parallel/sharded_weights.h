#pragma once

#include "core/engine/parallel/parallelism.h"

#include <functional>

namespace tilescope::engine {

/// Cuts this rank's part out of a weight. Arguments: its name, the weight, and its map or null.
using WeightCut = std::function<at::Tensor(const std::string&, const at::Tensor&, const LinearMap*)>;

/// Fully sharded data parallelism (Zhao et al., 2023): each rank keeps a part of every weight, with its
/// gradient and its optimizer state.
///
/// ShardSchedule says when. Matrices are gathered in the type of products.
/// \param ranks  the ranks that divide the weights
/// \param cut    applied before a weight is divided; may be empty
std::unique_ptr<Parallelism> makeShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut = {});

} // namespace tilescope::engine
