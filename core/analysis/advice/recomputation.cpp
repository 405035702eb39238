#include "core/analysis/advice/recomputation.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

void RecomputedOps::add(const Op& op)
{
    constexpr std::uint32_t kMostOps = 1U << 28; // rejects the arbitrary ids of a damaged file
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
    constexpr int kDeepest = 256; // bounds the walk: in a damaged file, ops may contain each other
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

bool computesForwardAttention(std::string_view kernel)
{
    constexpr std::array<std::string_view, 4> kNames{"fmha_cutlassF", "flash_fwd", "flash_fprop",
                                                     "attention_forward"};
    return std::ranges::any_of(
        kNames, [kernel](std::string_view name) { return kernel.find(name) != std::string_view::npos; });
}

} // namespace tilescope::analysis
