#pragma once

#include "core/model/recomputation_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope {

// checkpointing: block:K and block:K+N under compile: fused. Forward keeps the output and the log-sum-exp of attention of
// each block beside the input of each segment. Backward computes the segments again, but neither attention nor the last
// product of a segment, which it does not need. The last segment, with which backward begins, or the last N blocks keep
// the results of their products; backward computes again the outputs of norms and, by one product, the residual stream
// after attention, which cost the least time by byte.

/// Whether a model of compile: fused keeps attention of the blocks that it recomputes.
inline bool keepsAttention(const ExperimentSpec& spec)
{
    return spec.compile.kind == CompileRequest::Kind::Fused &&
           spec.checkpointing.kind == Checkpointing::Kind::Block;
}

/// What backward computes again, under any `compile`: recomputationPlan(), in a fused model without the last segment if
/// the spec does not say how many blocks are kept.
inline std::vector<RecomputedSegment> recomputedSegments(const ExperimentSpec& spec)
{
    std::vector<RecomputedSegment> plan = recomputationPlan(spec.checkpointing, spec.layers);
    if (keepsAttention(spec) && spec.checkpointing.kept == 0)
        plan.pop_back();
    return plan;
}

/// Whether a block is the last one of a segment.
inline bool endsSegment(const std::vector<RecomputedSegment>& plan, std::int64_t block)
{
    return std::ranges::find(plan, block + 1, &RecomputedSegment::end) != plan.end();
}

} // namespace tilescope
