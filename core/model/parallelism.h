#pragma once

#include "core/model/spec.h"

#include <string_view>

namespace tilescope {

/// The ranks of a step as a grid. The ranks of a row divide each layer (tensor parallelism) and have the same
/// batch. The ranks of a column have different batches.
struct RankGrid {
    int data = 1;   ///< number of rows: the number of batches
    int tensor = 1; ///< number of columns: the number of parts of a layer

    int ranks() const { return data * tensor; }
    int dataOf(int rank) const { return rank / tensor; }
    int tensorOf(int rank) const { return rank % tensor; }

    bool operator==(const RankGrid&) const = default;
};

/// The grid of a spec. That of fsdp+tp is as square as possible, with no more columns than rows.
RankGrid gridOf(const ExperimentSpec& spec);

/// Whether a point is run by a group of ranks, which may have one rank.
bool hasRanks(const ExperimentSpec& spec);
/// Whether a GPU replays the steps from CUDA graphs. Ranks do not: they start each step together.
bool replaysGraphs(const ExperimentSpec& spec);
/// The value of a key that the spec of a language model without ranks omits: 1 for gpus, `none` for parallel.
/// Empty for other keys.
std::string_view valueWithoutRanks(std::string_view key);
/// Whether `bucket` has an effect.
bool hasBuckets(Parallel parallel);
/// Whether each rank updates only a part of the weights and needs an optimizer for it.
bool shardsOptimizerOnly(Parallel parallel);

/// Bytes of an element.
std::int64_t bytesOf(MessageDtype type);

} // namespace tilescope
