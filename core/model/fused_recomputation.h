#pragma once

#include "core/model/recomputation_plan.h"

#include <cstdint>
#include <vector>

namespace tilescope {

// checkpointing: block:K under compile: fused. Forward keeps the output and the log-sum-exp of attention of each block
// beside the input of each segment, and keeps the last segment, with which backward begins, as without checkpointing.
// Backward computes the other segments again, but neither attention nor the last product of a segment, which it does
// not need.

/// Number of segments; 0 with other kinds of checkpointing.
inline std::int64_t blockSegments(const ExperimentSpec& spec)
{
    if (spec.checkpointing.kind != Checkpointing::Kind::Block)
        return 0;
    return static_cast<std::int64_t>(recomputationPlan(spec.checkpointing, spec.layers).size());
}

/// Whether backward computes a block again.
inline bool isComputedAgain(const ExperimentSpec& spec, std::int64_t block)
{
    return block / spec.checkpointing.every + 1 < blockSegments(spec);
}

/// Whether a block is the last one of its segment.
inline bool endsSegment(const ExperimentSpec& spec, std::int64_t block)
{
    return (block + 1) % spec.checkpointing.every == 0 || block + 1 == spec.layers;
}

/// What backward computes again, under any `compile`: recomputationPlan() without the segment that is kept whole.
inline std::vector<RecomputedSegment> recomputedSegments(const ExperimentSpec& spec)
{
    std::vector<RecomputedSegment> plan = recomputationPlan(spec.checkpointing, spec.layers);
    if (spec.compile.kind == CompileRequest::Kind::Fused && blockSegments(spec) > 0)
        plan.pop_back();
    return plan;
}

} // namespace tilescope
