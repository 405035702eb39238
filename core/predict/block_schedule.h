#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::predict {

/// How the thread blocks of a kernel share a multiprocessor.
struct BlockSharing {
    int resident = 1;          ///< blocks resident on a multiprocessor at once
    double alone = 1;          ///< share of the multiprocessor's rate that a single block reaches
    bool longestFirst = false; ///< launch order; false: index order
};

/// A grid with the same blocks for each head: `tiles` of them, the last the longest under a causal mask.
struct BlockGrid {
    std::int64_t heads = 1;
    std::vector<double> seconds = {}; ///< of each tile of a head, at the full rate of a multiprocessor
};

/// When the last block of a kernel ends. Blocks start one by one as slots become free, and blocks on one
/// multiprocessor share its rate evenly. Accounts for the idle time when there are few long blocks, which
/// total work over mean rate ignores.
///
/// O(blocks log multiprocessors) up to a few dozen blocks per slot; uses the mean beyond that.
double scheduledSeconds(const BlockGrid& grid, const BlockSharing& sharing, int multiprocessors);

} // namespace tilescope::predict
