#include "core/analysis/work/op_tree.h"

namespace tilescope::analysis {

OpTree::OpTree(std::span<const Op> ops, const TextOf& textOf, const WorkContext& context,
               const AlikeCalls& alike)
    : ops_(ops), alike_(alike), work_(ops.size()), rule_(ops.size()), filled_(ops.size()),
      covered_(ops.size(), false)
{
    position_.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i)
        position_.emplace(ops[i].id, i);
    std::unordered_map<std::uint64_t, std::optional<Work>> known; // by name and shapes
    for (std::size_t i = 0; i < ops.size(); ++i) {
        rule_[i] = ruleOf(textOf(ops[i].name));
        if (!rule_[i] || !rule_[i]->moves || !ops[i].shapes)
            continue;
        const std::uint64_t key =
            (std::uint64_t{ops[i].name.value} << 32U) | std::uint64_t{ops[i].shapes.value};
        const auto [entry, isNew] = known.try_emplace(key);
        if (isNew)
            entry->second = workOfOp(textOf(ops[i].name), textOf(ops[i].shapes), context);
        work_[i] = entry->second;
    }
    // Autocast calls an op of the same name with converted operands. The conversions are separate ops,
    // and the inner op has the operands that were read.
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (const auto caller = work_[i] ? parentOf(i) : std::nullopt;
            caller && ops[*caller].name == ops[i].name)
            work_[*caller].reset();
    // Only the outermost op counts. Zeros that it fills itself are part of its work, but not of its rule.
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!work_[i])
            continue;
        const std::optional<std::size_t> owner = above(i);
        covered_[i] = owner.has_value();
        if (owner && rule_[i]->family == KernelFamily::Memset && !isFill(parentOf(i)))
            filled_[*owner] += times(*work_[i], callsOf(i));
    }
}

std::optional<std::size_t> OpTree::countingAt(std::optional<std::size_t> op) const
{
    // Parents have lower ids than their children, so a chain ends. The bound ends a cycle in a damaged
    // file.
    for (std::size_t guard = ops_.size(); op && guard-- > 0; op = parentOf(*op))
        if (counts(*op))
            return op;
    return {};
}

std::optional<std::size_t> OpTree::above(std::size_t i) const
{
    std::optional<std::size_t> found;
    std::size_t guard = ops_.size();
    for (auto op = parentOf(i); op && guard-- > 0; op = parentOf(*op))
        if (work_[*op])
            found = op;
    return found;
}

} // namespace tilescope::analysis
