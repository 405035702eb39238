#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <vector>

namespace tilescope {

/// Consecutive blocks of the lm that backward computes again from the input of the first one, [begin, end).
struct RecomputedSegment {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    /// Segments within this one, in order. While this segment is recomputed, only their inputs are kept. They
    /// exclude at least the last block, because backward needs its activations first.
    std::vector<RecomputedSegment> inner = {};

    bool operator==(const RecomputedSegment&) const = default;
};

/// The segments of a forward pass. Empty if blocks are not recomputed.
///
/// block:K makes segments of K blocks. block:K+N excludes the last N blocks; backward needs them first, so
/// their memory is free when it recomputes the others. nested:K divides all blocks into K segments, and each
/// segment again, down to single blocks (Chen et al., 2016, section 4.3). Backward then keeps about K
/// log_K(layers) inputs of blocks instead of `layers`.
std::vector<RecomputedSegment> recomputationPlan(const Checkpointing& checkpointing, std::int64_t layers);

/// By block: the number of times that backward repeats its forward pass.
std::vector<int> recomputations(const std::vector<RecomputedSegment>& plan, std::int64_t layers);

/// A plan in numbers.
struct RecomputationSummary {
    std::int64_t segments = 0; ///< of the forward pass
    int levels = 0;            ///< of segments inside each other
    double factor = 0;         ///< forward passes of all blocks that backward repeats
};
RecomputationSummary summaryOf(const std::vector<RecomputedSegment>& plan, std::int64_t layers);

} // namespace tilescope
