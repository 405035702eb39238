#include "core/analysis/advice/recomputation.h"

namespace tilescope::analysis {

void RecomputedOps::add(const Op& op)
{
    constexpr std::uint32_t kMostOps = 1U << 28; // numbers of a damaged file
    if (!op.id || op.id.value >= kMostOps)
        return;
    if (op.id.value >= ops_.size())
        ops_.resize(std::size_t{op.id.value} + 1);
    const bool isBackward = op.scope == OpScope::Backward;
    ops_[op.id.value] = {op.parent, true, isBackward, !isBackward && op.sequence >= 0};
    hasBackward_ = hasBackward_ || isBackward;
}

bool RecomputedOps::has(OpId op) const
{
    constexpr int kDeepest = 256; // ops of a damaged file may contain each other
    bool recordsGraph = false;
    for (int depth = 0; op && op.value < ops_.size() && depth < kDeepest; ++depth) {
        const Facts& facts = ops_[op.value];
        if (facts.isBackward)
            return recordsGraph;
        recordsGraph = recordsGraph || facts.recordsGraph;
        op = facts.parent;
    }
    return false;
}

} // namespace tilescope::analysis
