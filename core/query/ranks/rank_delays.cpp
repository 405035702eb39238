#include "core/query/ranks/rank_delays.h"

#include "core/query/ranks/rank_tables.h"

#include <algorithm>

namespace tilescope::query {

namespace {

void addDelays(const CollectiveRow& row, std::optional<std::int32_t> rank, RankDelays::Waiting& waiting)
{
    const auto own = std::ranges::find_if(
        row.ranks, [&](const CollectiveRank& each) { return !rank || each.rank == rank; });
    if (own == row.ranks.end())
        return;
    if (own->wait.count() > 0)
        waiting.forOthers.push_back({{own->start, own->start + own->wait}, row.last, row.range});
    if (!own->slack)
        return;
    const Timestamp needed = own->start + own->duration + own->slack->slack;
    if (own->slack->stall.count() > 0)
        waiting.forGathers.push_back({{needed - own->slack->stall, needed}, own->neededBy, row.range});
}

} // namespace

RankDelays rankDelays(const store::RunReader& reader, RunId run,
                      std::span<const std::optional<std::int32_t>> ranks,
                      const std::function<bool()>& cancelled)
{
    RankDelays delays;
    if (reader.collectives(run).empty())
        return delays;
    const RanksTable table = query::ranks(reader, {.run = run}, cancelled);
    delays.straggler = table.straggler;
    delays.stragglerName = table.stragglerName;
    for (const std::optional<std::int32_t>& rank : ranks) {
        RankDelays::Waiting& waiting = delays.ranks.emplace_back();
        for (const CollectiveRow& row : table.collectives)
            addDelays(row, rank, waiting);
    }
    return delays;
}

} // namespace tilescope::query
