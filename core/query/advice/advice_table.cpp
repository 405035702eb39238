#include "core/query/advice/advice_table.h"

#include "core/query/advice/advisor.h"

namespace tilescope::query {

double AdviceTable::perStep(Nanoseconds time) const
{
    return steps > 0 ? static_cast<double>(time.count()) / static_cast<double>(steps) : 0;
}

double AdviceTable::percent(Nanoseconds time) const
{
    return wall.count() > 0 ? 100.0 * static_cast<double>(time.count()) / static_cast<double>(wall.count())
                            : 0;
}

AdviceTable advice(const store::RunReader& reader, std::optional<RunId> run, const ProcessQuery& topology,
                   const std::function<bool()>& cancelled)
{
    AdviceTraces traces = adviceTraces(reader, run, topology, cancelled);
    std::vector<std::optional<std::int32_t>> ranks;
    for (const AdviceTrace& trace : traces.processes)
        ranks.push_back(trace.rank);
    const RankDelays delays = rankDelays(reader, traces.run.run, ranks, cancelled);
    return Advisor(reader, std::move(traces)).judge(delays);
}

} // namespace tilescope::query
