#include "core/query/tables/rank_delays.h"

#include "core/query/tables/rank_tables.h"

#include <algorithm>

namespace tilescope::query {

namespace {

void addDelays(const CollectiveRow& row, const WaitingRank& waiting, RankDelays& delays)
{
    const auto own = std::ranges::find_if(
        row.ranks, [&](const CollectiveRank& each) { return !waiting.rank || each.rank == waiting.rank; });
    if (own == row.ranks.end())
        return;
    const Timestamp start = own->start + waiting.shift;
    if (own->wait.count() > 0)
        delays.forOthers.push_back({{start, start + own->wait}, row.last, row.range});
    if (!own->slack)
        return;
    const Timestamp needed = start + own->duration + own->slack->slack;
    if (own->slack->stall.count() > 0)
        delays.forGathers.push_back({{needed - own->slack->stall, needed}, own->neededBy, row.range});
}

} // namespace

RankDelays rankDelays(const store::RunReader& reader, RunId run, std::span<const WaitingRank> ranks,
                      const std::function<bool()>& cancelled)
{
    RankDelays delays;
    if (reader.collectives(run).empty())
        return delays;
    const RanksTable table = query::ranks(reader, {.run = run}, cancelled);
    delays.straggler = table.straggler;
    delays.stragglerName = table.stragglerName;
    for (const WaitingRank& waiting : ranks)
        for (const CollectiveRow& row : table.collectives)
            addDelays(row, waiting, delays);
    return delays;
}

} // namespace tilescope::query
