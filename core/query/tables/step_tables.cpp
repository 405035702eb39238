#include "core/query/tables/step_tables.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>

namespace tilescope::query {

namespace {

void addSteps(const store::RunReader& reader, RunId run, const PartyQuery& query, std::vector<StepRow>& rows)
{
    std::vector<Range> stepRanges;
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (range.step != kNoStep && analysis::fromStepDown(reader.text(range.path)) == "step")
            stepRanges.push_back(range);
        return true;
    });
    std::ranges::sort(stepRanges, {}, &Range::start);
    const bool onGpu = reader.counts(run).deviceEvents > 0;
    const PartyFilter filter(reader, run, query);
    const PartyIndex& parties = filter.parties();
    for (const Range& range : stepRanges) {
        if (!filter.has(range.thread))
            continue;
        const ProcessIndex process = parties.of(range.thread);
        StepRow row{.run = run,
                    .step = range.step,
                    .process = parties.titleOf(process),
                    .rank = parties.rankOf(process),
                    .onGpu = onGpu};
        row.partition.wall = {range.start, range.end};
        if (onGpu) {
            const store::EventWindow window{.run = run, .from = range.start, .to = range.end};
            std::vector<DeviceEvent> device = reader.deviceEvents(window);
            std::vector<ApiCall> calls = reader.apiCalls(window);
            std::erase_if(device, [&](const DeviceEvent& event) {
                return parties.of(event.device, event.stream) != process;
            });
            std::erase_if(calls, [&](const ApiCall& call) { return parties.of(call.thread) != process; });
            row.partition = analysis::partitionStep(row.partition.wall, device, calls);
        }
        rows.push_back(row);
    }
}

} // namespace

StepsTable steps(const store::RunReader& reader, const EventQuery& query)
{
    StepsTable table;
    reader.atOnce([&] {
        const std::vector<RunId> asked = chooseRunIds(reader, query.run);
        if (asked.empty())
            return;
        table.last = reader.run(asked.back());
        for (const RunId run : query.run ? asked : reader.runsWithRanges())
            addSteps(reader, run, query.parties, table.rows);
        table.hasProcesses =
            std::ranges::any_of(table.rows, [](const StepRow& row) { return !row.process.empty(); });
    });
    return table;
}

} // namespace tilescope::query
