#include "core/query/tables/step_tables.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/process_steps.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <map>

namespace tilescope::query {

namespace {

void addSteps(const store::RunReader& reader, RunId run, const PartyQuery& query, std::vector<StepRow>& rows)
{
    const PartyFilter filter(reader, run, query);
    const PartyIndex& parties = filter.parties();
    std::vector<Range> stepRanges;
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (range.step != kNoStep && analysis::fromStepDown(reader.text(range.path)) == "step" &&
            filter.has(range.thread))
            stepRanges.push_back(range);
        return true;
    });
    std::ranges::sort(stepRanges, {}, &Range::start);
    std::map<ProcessIndex, analysis::ProcessSteps> processes;
    for (const Range& range : stepRanges)
        processes[parties.of(range.thread)].addStep(range.step, {range.start, range.end});
    const bool onGpu = !stepRanges.empty() && reader.counts(run).deviceEvents > 0;
    if (onGpu) {
        reader.eachApiCall({.run = run}, [&](const ApiCall& call) {
            processes[parties.of(call.thread)].addCall(call.kind, {call.start, call.end});
            return true;
        });
        reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
            processes[parties.of(event.device, event.stream)].addDeviceEvent(event);
            return true;
        });
    }
    std::map<ProcessIndex, std::vector<analysis::StepPartition>> partitions;
    for (const auto& [process, steps] : processes)
        partitions[process] = steps.partitions();
    std::map<ProcessIndex, std::size_t> next;
    for (const Range& range : stepRanges) {
        const ProcessIndex process = parties.of(range.thread);
        StepRow row{.run = run,
                    .step = range.step,
                    .process = parties.titleOf(process),
                    .rank = parties.rankOf(process),
                    .onGpu = onGpu,
                    .partition = partitions[process][next[process]++]};
        if (!onGpu)
            row.partition = {.wall = row.partition.wall};
        rows.push_back(row);
    }
}

/// From the totals that the file stores for the steps.
StepRow storedRow(const store::StepTotal& step, RunId run, bool onGpu)
{
    return {.run = run,
            .step = step.step,
            .onGpu = onGpu,
            .partition = {.wall = {step.start, step.end},
                          .gpuBusy = step.gpuBusy,
                          .launching = step.launching,
                          .synchronizing = step.synchronizing,
                          .tracing = step.tracing,
                          .unexplained = step.unexplained}};
}

} // namespace

std::vector<StepRow> stepsOf(const store::RunReader& reader, RunId run)
{
    const std::vector<store::StepTotal> totals = reader.stepTotals(run);
    if (totals.empty() && !reader.totals(run))
        return steps(reader, {.run = run}).rows;
    const bool onGpu = reader.counts(run).deviceEvents > 0;
    std::vector<StepRow> rows;
    for (const store::StepTotal& step : totals)
        rows.push_back(storedRow(step, run, onGpu));
    return rows;
}

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
