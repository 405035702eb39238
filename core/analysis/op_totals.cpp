#include "core/analysis/op_totals.h"

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

    std::vector<OpTotal> sorted;
    sorted.reserve(totals.size());
    for (auto& [key, total] : totals) {
        total.group = key;
        sorted.push_back(total);
    }
    std::sort(sorted.begin(), sorted.end(), [](const OpTotal& a, const OpTotal& b) {
        return a.self != b.self ? a.self > b.self : a.group < b.group;
    });
    return sorted;
}

} // namespace tilescope::analysis
