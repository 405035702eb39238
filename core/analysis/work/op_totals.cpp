#include "core/analysis/work/op_totals.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

/// Position of each op by its id.
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

std::vector<Nanoseconds> selfTimes(std::span<const Op> ops,
                                   const std::unordered_map<OpId, std::size_t>& positions)
{
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

} // namespace

std::vector<Nanoseconds> selfTimes(std::span<const Op> ops)
{
    return selfTimes(ops, positionsOf(ops));
}

std::vector<OpTotal> opTotals(std::span<const Op> ops, const OpGroupOf& groupOf)
{
    const auto positions = positionsOf(ops);
    const std::vector<Nanoseconds> self = selfTimes(ops, positions);
    std::vector<std::optional<std::uint32_t>> group(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i)
        group[i] = groupOf(ops[i]);

    std::unordered_map<std::uint32_t, OpTotal> totals;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!group[i])
            continue;
        OpTotal& total = totals[*group[i]];
        ++total.instances;
        total.self += self[i];
        bool nested = false;
        // Parents start before their children, so a chain cannot be longer than the list; a damaged file's
        // cycle ends at that bound.
        std::size_t guard = ops.size();
        for (auto above = parentOf(ops[i], positions); above && !nested && guard-- > 0;
             above = parentOf(ops[*above], positions))
            nested = group[*above] == group[i];
        if (!nested)
            total.total += ops[i].end - ops[i].start;
    }

    return sorted(totals);
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

/// The op at the top has ended.
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
