#include "core/analysis/work/op_totals.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

std::unordered_map<OpId, std::size_t> positionsOf(std::span<const Op> ops)
{
    std::unordered_map<OpId, std::size_t> positions;
    positions.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i)
        positions.emplace(ops[i].id, i);
    return positions;
}

std::optional<std::size_t> parentOf(const Op& op, const std::unordered_map<OpId, std::size_t>& positions)
{
    if (!op.parent || op.parent == op.id)
        return {};
    const auto found = positions.find(op.parent);
    return found == positions.end() ? std::nullopt : std::optional(found->second);
}

std::vector<OpTotal> sorted(const std::unordered_map<std::uint32_t, OpTotal>& totals)
{
    std::vector<OpTotal> list;
    list.reserve(totals.size());
    for (const auto& [group, total] : totals) {
        list.push_back(total);
        list.back().group = group;
    }
    std::sort(list.begin(), list.end(), [](const OpTotal& a, const OpTotal& b) {
        return a.self != b.self ? a.self > b.self : a.group < b.group;
    });
    return list;
}

} // namespace

std::vector<Nanoseconds> selfTimes(std::span<const Op> ops)
{
    const auto positions = positionsOf(ops);
    std::vector<Nanoseconds> self(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i)
        self[i] = ops[i].end - ops[i].start;
    for (const Op& op : ops)
        if (const auto parent = parentOf(op, positions))
            self[*parent] -= op.end - op.start;
    for (Nanoseconds& time : self)
        time = std::max(time, Nanoseconds{0});
    return self;
}

void OpTotals::add(const Op& op, std::optional<std::uint32_t> group)
{
    Stack& stack = stacks_[op.thread];
    const auto isParent = [&op](const Open& open) { return open.id == op.parent; };
    const bool hasParent = op.parent && op.parent != op.id && std::ranges::any_of(stack, isParent);
    while (!stack.empty() &&
           (hasParent ? !isParent(stack.back()) : !op.parent || stack.back().end <= op.start))
        leave(stack);
    Open open{
        .id = op.id, .end = op.end, .duration = op.end - op.start, .group = group, .hasParent = hasParent};
    if (hasParent) {
        stack.back().children += open.duration;
        for (std::size_t above = stack.size() - 1; group; --above) {
            open.nested = stack[above].group == group;
            if (open.nested || !stack[above].hasParent)
                break;
        }
    }
    stack.push_back(open);
}

/// Removes the op at the top of the stack, which has ended.
void OpTotals::leave(Stack& stack)
{
    const Open& open = stack.back();
    if (open.group) {
        OpTotal& total = totals_[*open.group];
        ++total.instances;
        total.self += std::max(open.duration - open.children, Nanoseconds{0});
        if (!open.nested)
            total.total += open.duration;
    }
    stack.pop_back();
}

std::vector<OpTotal> OpTotals::finish()
{
    for (auto& [thread, stack] : stacks_)
        while (!stack.empty())
            leave(stack);
    return sorted(totals_);
}

} // namespace tilescope::analysis
