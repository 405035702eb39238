#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::predict {

/// How the thread blocks of a kernel share a multiprocessor.
struct BlockSharing {
    int resident = 1;          ///< blocks that a multiprocessor holds at once
    double alone = 1;          ///< share of its rate that one block reaches by itself
    bool longestFirst = false; ///< in which order they start; false: as they lie
};

/// Blocks of which each head has the same: `tiles` of them, the last the longest under a causal mask.
struct BlockGrid {
    std::int64_t heads = 1;
    std::vector<double> seconds = {}; ///< of each tile of a head, at the full rate of a multiprocessor
};

/// When the last block of a kernel ends, as its blocks start one by one where a place is free and those of
/// one multiprocessor share its rate evenly. Few long blocks leave most of a device idle: what a product of
/// total work and mean rate does not see.
///
/// O(blocks log multiprocessors) up to some dozens of blocks a place; beyond, the mean is close enough.
double scheduledSeconds(const BlockGrid& grid, const BlockSharing& sharing, int multiprocessors);

} // namespace tilescope::predict
