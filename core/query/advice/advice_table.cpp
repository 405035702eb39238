#include "core/query/advice/advice_table.h"

#include "core/query/advice/advisor.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/runs/per_step.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/side_reading.h"

#include <functional>

namespace tilescope::query {

double AdviceTable::perStep(Nanoseconds time) const
{
    return meanPerStep(time, steps);
}

double AdviceTable::percent(Nanoseconds time) const
{
    return wall.count() > 0 ? 100.0 * static_cast<double>(time.count()) / static_cast<double>(wall.count())
                            : 0;
}

AdviceTable advice(const store::RunReader& reader, std::optional<RunId> run, const ProcessQuery& topology,
                   const std::function<bool()>& cancelled)
{
    const store::RunRecord advised = chooseRun(reader, run);
    SideReading<RanksTable> ranksOfRun(
        reader, advised, cancelled,
        [number = advised.run](const store::RunReader& own, const std::function<bool()>& isCancelled) {
            return own.collectives(number).empty() ? RanksTable{}
                                                   : query::ranks(own, {.run = number}, isCancelled);
        });
    AdviceTraces traces = adviceTraces(reader, advised.run, topology, cancelled);
    std::vector<std::optional<std::int32_t>> ranks;
    for (const AdviceTrace& trace : traces.processes)
        ranks.push_back(trace.rank);
    Advisor advisor(reader, std::move(traces));
    return advisor.judge(rankDelays(ranksOfRun.take(), ranks));
}

} // namespace tilescope::query
