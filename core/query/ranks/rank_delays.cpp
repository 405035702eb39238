#include "core/query/ranks/rank_delays.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace tilescope::query {

namespace {

void addDelays(const CollectiveRow& row, const CollectiveRank& own, RankDelays::Waiting& waiting)
{
    if (own.wait.count() > 0)
        waiting.forOthers.push_back({{own.start, own.start + own.wait}, row.last, row.range});
    if (!own.slack)
        return;
    const Timestamp needed = own.start + own.duration + own.slack->slack;
    if (own.slack->stall.count() > 0)
        waiting.forGathers.push_back({{needed - own.slack->stall, needed}, own.neededBy, row.range});
}

/// The parts of one collective by rank; none: the first part.
class PartsByRank {
public:
    explicit PartsByRank(const CollectiveRow& row) : row_(row)
    {
        for (const CollectiveRank& each : row.ranks)
            if (each.rank)
                parts_.try_emplace(*each.rank, &each);
    }
    const CollectiveRank* find(std::optional<std::int32_t> rank) const
    {
        if (!rank)
            return row_.ranks.empty() ? nullptr : &row_.ranks.front();
        const auto found = parts_.find(*rank);
        return found == parts_.end() ? nullptr : found->second;
    }

private:
    const CollectiveRow& row_;
    std::unordered_map<std::int32_t, const CollectiveRank*> parts_;
};

} // namespace

RankDelays rankDelays(const RanksTable& table, std::span<const std::optional<std::int32_t>> ranks)
{
    RankDelays delays;
    if (table.rows.empty() && table.collectives.empty())
        return delays;
    delays.straggler = table.straggler;
    delays.stragglerName = table.stragglerName;
    delays.ranks.resize(ranks.size());
    for (const CollectiveRow& row : table.collectives) {
        const PartsByRank parts(row);
        for (std::size_t i = 0; i < ranks.size(); ++i)
            if (const CollectiveRank* const own = parts.find(ranks[i]))
                addDelays(row, *own, delays.ranks[i]);
    }
    return delays;
}

} // namespace tilescope::query
