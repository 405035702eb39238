#include "core/query/advice/advice_trace.h"

#include "core/query/advice/advice_reading.h"
#include "core/query/runs/per_process.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

namespace tilescope::query {

namespace {

/// The requested process, otherwise that of the lowest rank; null in a run of one process.
const TracedProcess* processFor(const RunTopology& topology, const ProcessQuery& query)
{
    const TracedProcess* chosen = nullptr;
    for (const TracedProcess& process : topology.processes)
        if ((!query.rank || process.rank == query.rank) && (!query.pid || process.pid == *query.pid) &&
            (!chosen || (process.rank && (!chosen->rank || *process.rank < *chosen->rank))))
            chosen = &process;
    return topology.processes.size() > 1 ? chosen : nullptr;
}

void leaveOutThoseWithoutSteps(std::vector<AdviceTrace>& traces, std::vector<ProcessChoice>& processes)
{
    const auto hasSteps = [](const AdviceTrace& trace) { return !trace.isWhole && !trace.walls.empty(); };
    if (std::ranges::none_of(traces, hasSteps))
        return;
    std::size_t next = 0;
    std::erase_if(processes, [&](const ProcessChoice&) { return !hasSteps(traces[next++]); });
    std::erase_if(traces, [&](const AdviceTrace& trace) { return !hasSteps(trace); });
}

using AdviceReadings = PerProcess<AdviceReading>;

/// Finds the first work of each process. Most begin early, so this seldom reads much.
void findFirstWork(AdvisedRun& all, AdviceReadings& readings)
{
    auto missing = std::ranges::ssize(readings.list());
    all.reader.eachDeviceEvent({.run = all.run.run}, [&](const DeviceEvent& event) {
        readings.forThose(event, [&](AdviceReading& each) {
            const bool wasKnown = each.knowsFirstWork();
            each.noteFirstWork(event);
            missing -= !wasKnown && each.knowsFirstWork() ? 1 : 0;
        });
        return missing > 0 && !all.cancelled();
    });
}

/// Reads the events of a run once for all of its processes; ranges twice, as those of start-up depend on the steps.
void addToReadings(AdvisedRun& all, AdviceReadings& readings)
{
    const store::EventWindow window{.run = all.run.run};
    const bool onGpu = all.counts.deviceEvents > 0;
    const auto add = [&](const auto& event) {
        readings.forThose(event.thread, [&](AdviceReading& each) { each.add(event); });
        return !all.cancelled();
    };
    if (onGpu)
        findFirstWork(all, readings);
    all.reader.eachRange(window, add);
    for (AdviceReading& each : readings.list())
        each.endRanges();
    if (onGpu)
        all.reader.eachRange(window, [&](const Range& range) {
            readings.forThose(range.thread, [&](AdviceReading& each) { each.addStart(range); });
            return !all.cancelled();
        });
    all.reader.eachOp(window, [&](const Op& op) {
        all.recomputation.add(op);
        return add(op);
    });
    for (AdviceReading& each : readings.list())
        each.endOps();
    if (!onGpu && all.recomputation.hasBackward())
        all.reader.eachOp(window, [&](const Op& op) {
            readings.forThose(op.thread, [&](AdviceReading& each) { each.addRecomputed(op); });
            return !all.cancelled();
        });
    if (onGpu) {
        all.reader.eachApiCall(window, add);
        for (const Collective& collective : all.reader.collectives(all.run.run))
            all.collectives.insert(collective.correlation);
        all.reader.eachDeviceEvent(window, [&](const DeviceEvent& event) {
            readings.forThose(event, [&](AdviceReading& each) { each.add(event); });
            return !all.cancelled();
        });
    }
    if (all.counts.frames > 0) {
        for (AdviceReading& each : readings.list())
            each.beginFrames();
        all.reader.eachFrame(window, add);
    }
    all.reader.eachAllocEvent(window, [&](const AllocEvent& event) {
        readings.forThose(event.device, [&](AdviceReading& each) { each.add(event); });
        return !all.cancelled();
    });
}
} // namespace

AdviceTraces adviceTraces(const store::RunReader& reader, std::optional<RunId> run,
                          const ProcessQuery& topology, const std::function<bool()>& cancelled)
{
    AdviceTraces traces;
    reader.atOnce([&] {
        traces.run = chooseRun(reader, run);
        traces.choice = stepChoice(reader, traces.run.run, topology);
        AdvisedRun all(reader, traces.run, traces.choice, traces.sources, cancelled);
        std::vector<ProcessChoice> choices = processChoices(all.topology);
        AdviceReadings readings;
        const bool ofEach = topology.empty() && !choices.empty();
        if (ofEach) {
            for (const ProcessChoice& choice : choices)
                readings.emplace(all, choice.query, processFor(all.topology, choice.query));
        } else {
            traces.topology = topology;
            const TracedProcess* const process = processFor(all.topology, topology);
            if (process) {
                traces.process = TopologyIndex(all.topology, {}).titleOf(process->id);
                traces.option = process->rank ? " --rank " + std::to_string(*process->rank)
                                              : " --process " + std::to_string(process->pid);
                traces.topology.rank = process->rank;
                traces.topology.pid = process->rank ? topology.pid : process->pid;
            }
            readings.emplace(all, traces.topology, process);
        }
        addToReadings(all, readings);
        for (AdviceReading& each : readings.list())
            traces.processes.push_back(each.take());
        if (ofEach) {
            leaveOutThoseWithoutSteps(traces.processes, choices);
            traces.process = processWords(choices, {});
        }
    });
    return traces;
}

} // namespace tilescope::query
