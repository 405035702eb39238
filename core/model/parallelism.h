#pragma once

#include "core/model/spec.h"

#include <string_view>

namespace tilescope {

/// The ranks of a step as rows and columns. The ranks of a row divide each layer (tensor parallelism) and have the same
/// batch; those of a column have batches of their own.
struct RankGrid {
    int data = 1;   ///< rows: how many batches there are
    int tensor = 1; ///< columns: into how many parts a layer is divided

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
/// The value of a key that the spec of a language model without ranks leaves out: 1 for gpus, none for parallel. Empty for
/// other keys.
std::string_view valueWithoutRanks(std::string_view key);
/// Whether `bucket` has an effect.
bool hasBuckets(Parallel parallel);
/// Whether each rank updates only a part of the weights and needs an optimizer for it.
bool shardsOptimizerOnly(Parallel parallel);

/// Bytes of an element.
std::int64_t bytesOf(MessageDtype type);

} // namespace tilescope
