#include "core/query/tables/rank_delays.h"

#include "core/query/tables/rank_tables.h"

#include <algorithm>

namespace tilescope::query {

RankDelays rankDelays(const store::RunReader& reader, RunId run, std::optional<std::int32_t> rank,
                      const std::function<bool()>& cancelled)
{
    RankDelays delays;
    if (reader.collectives(run).empty())
        return delays;
    const RanksTable table = ranks(reader, {.run = run}, cancelled);
    delays.straggler = table.straggler;
    delays.stragglerName = table.stragglerName;
    for (const CollectiveRow& row : table.collectives) {
        const auto own = std::ranges::find_if(
            row.ranks, [&](const CollectiveRank& each) { return !rank || each.rank == rank; });
        if (own == row.ranks.end())
            continue;
        if (own->wait.count() > 0)
            delays.forOthers.push_back({{own->start, own->start + own->wait}, row.last, row.range});
        if (!own->slack)
            continue;
        const Timestamp needed = own->start + own->duration + own->slack->slack;
        if (own->slack->stall.count() > 0)
            delays.forGathers.push_back({{needed - own->slack->stall, needed}, own->neededBy, row.range});
    }
    return delays;
}

} // namespace tilescope::query
