#pragma once

#include "core/model/recomputation_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope {

// checkpointing: block:K and block:K+N under compile: fused. Forward keeps the input of each segment, and the
// output and log-sum-exp of each block's attention. Backward recomputes the segments, except attention and
// the last product of each segment, which it does not need. The last segment (with which backward begins) or
// the last N blocks keep the results of their products. For these, backward recomputes only the outputs of
// norms and, by one product, the residual stream after attention: they cost the least time per byte.

/// Whether a model of compile: fused keeps attention of the blocks that it recomputes.
inline bool keepsAttention(const ExperimentSpec& spec)
{
    return spec.compile.kind == CompileRequest::Kind::Fused &&
           spec.checkpointing.kind == Checkpointing::Kind::Block;
}

/// The segments that backward recomputes, for any `compile`: those of recomputationPlan(). A fused model
/// leaves out the last segment, unless the spec sets the number of blocks that are kept.
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
