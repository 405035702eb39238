#pragma once

#include "core/engine/parallel/parallelism.h"

namespace tilescope::engine {

/// Tensor parallelism (Shoeybi et al., 2019): each rank has some of the heads and a part of the feed-forward width. The
/// weights qkv and gate_up are divided by columns, projection and down by rows; the others are whole. A block
/// sums activations over the ranks four times: twice in forward, twice in backward.
std::unique_ptr<Parallelism> makeTensorParts(Ranks& ranks);

/// Tensor parallelism combined with sharded weights: columns of the grid of ranks divide weights, rows divide layers.
std::unique_ptr<Parallelism> makeShardedParts(const ExperimentSpec& spec, Ranks& ranks);

/// A copy of this rank's part of a weight: columns or rows by `map.division`, each packed map divided
/// separately. Returns the weight itself if it is not divided.
at::Tensor cutOut(const at::Tensor& weight, const LinearMap& map, int part, int parts);

} // namespace tilescope::engine
