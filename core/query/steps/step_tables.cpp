#include "core/query/steps/step_tables.h"

#include "core/analysis/ranks/matched_collectives.h"
#include "core/analysis/time/data_loading.h"
#include "core/analysis/time/deciders.h"
#include "core/analysis/time/process_steps.h"
#include "core/analysis/time/unrecorded_work.h"
#include "core/model/environment_facts.h"
#include "core/model/unjudged_steps.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace tilescope::query {

namespace {

/// From the totals that the file stores for the steps.
StepRow storedRow(const store::StepTotal& step, RunId run, bool onGpu, const TopologyIndex& topology)
{
    return {.run = run,
            .step = step.step,
            .process = topology.titleOf(step.process),
            .rank = rankOf(topology, step.process),
            .numbers = numbersOf(topology, step.process),
            .inRun = step.process,
            .onGpu = onGpu,
            .partition = {.wall = {step.start, step.end},
                          .gpuBusy = step.gpuBusy,
                          .launching = step.launching,
                          .synchronizing = step.synchronizing,
                          .tracing = step.tracing,
                          .unexplained = step.unexplained}};
}

void addSteps(const store::RunReader& reader, RunId run, const ProcessQuery& query,
              const std::optional<TimeSpan>& span, std::vector<StepRow>& rows)
{
    const std::vector<store::StepTotal> totals = reader.stepTotals(run);
    if (span || (totals.empty() && !reader.totals(run))) {
        std::ranges::move(stepsFromEvents(reader, run, query, span), std::back_inserter(rows));
        return;
    }
    const ProcessFilter filter(reader, run, query);
    const bool onGpu = reader.counts(run).deviceEvents > 0;
    const auto isAsked = [&](const TracedProcess* process) {
        return !process ||
               ((!query.rank || process->rank == query.rank) && (!query.pid || process->pid == *query.pid));
    };
    for (const store::StepTotal& step : totals)
        if (isAsked(filter.topology().find(step.process)))
            rows.push_back(storedRow(step, run, onGpu, filter.topology()));
}

/// The wall times of the steps around a window, from the totals in the file, and the window of their events.
/// So the other events of the run need not be read.
class KnownWalls {
public:
    /// \param window  none: all steps are requested, and none is known yet
    KnownWalls(const store::RunReader& reader, RunId run, const std::optional<store::EventWindow>& window)
        : events_{.run = run}
    {
        if (!window)
            return;
        const std::vector<store::StepTotal> totals = reader.stepTotals(run);
        bool isUnique = true;
        for (const store::StepTotal& step : totals)
            isUnique = walls_.try_emplace({step.process, step.step}, analysis::Interval{step.start, step.end})
                           .second &&
                       isUnique;
        if (!isUnique)
            walls_.clear(); // steps with the same number cannot be distinguished
        if (!any())
            return;
        events_.from = window->from;
        events_.to = window->to;
        Nanoseconds longest{0};
        for (const auto& [step, wall] : walls_)
            if (wall.start < window->to && wall.end > window->from) {
                events_.from = std::min(events_.from, wall.start);
                events_.to = std::max(events_.to, wall.end);
                longest = std::max(longest, wall.length());
            }
        // Work of a step on other streams may outlast its wall time.
        events_.from -= longest;
        events_.to += longest;
    }
    bool any() const { return !walls_.empty(); }
    const store::EventWindow& events() const { return events_; }
    bool has(ProcessIndex process, const Range& step) const
    {
        return !any() || walls_.contains({process, step.step});
    }
    analysis::Interval of(ProcessIndex process, const Range& step) const
    {
        return walls_.at({process, step.step});
    }

private:
    std::map<std::pair<ProcessIndex, std::int32_t>, analysis::Interval> walls_;
    store::EventWindow events_;
};

constexpr std::int64_t kMostJudged = 2'000'000; ///< events of a run whose busy steps are looked into

/// The lengths of launch calls, a quarter of which are shorter, tell which of them waited for a place in the queue.
class LongLaunches {
public:
    void add(const ApiCall& call)
    {
        if (call.kind == ApiKind::Launch)
            lengths_.push_back(call.end - call.start);
    }
    Nanoseconds shortest()
    {
        constexpr Nanoseconds kLongCall{8'000};
        constexpr int kTimesUsual = 3;
        if (lengths_.empty())
            return kLongCall;
        const auto quarter = lengths_.begin() + std::ssize(lengths_) / 4;
        std::ranges::nth_element(lengths_, quarter);
        return std::max(kLongCall, kTimesUsual * *quarter);
    }

private:
    std::vector<Nanoseconds> lengths_;
};

/// A kernel of a collective that processes begin together.
struct CollectiveKernel {
    std::size_t collective = 0; ///< the same number in all processes
    Timestamp ready{};          ///< when the last process arrived
};
/// By process and start: kernels of a graph share a correlation.
using CollectiveKernels = std::map<std::pair<ProcessIndex, Timestamp>, CollectiveKernel>;

CollectiveKernels collectiveKernelsOf(const store::RunReader& reader, RunId run,
                                      const TopologyIndex& topology)
{
    CollectiveKernels kernels;
    const std::vector<Collective> records =
        topology.hasSeveral() ? reader.collectives(run) : std::vector<Collective>();
    std::size_t number = 0;
    for (const analysis::MatchedCollective& matched :
         analysis::matchCollectives(records, {}, topology, textsOf(reader))) {
        Timestamp ready = Timestamp::min();
        for (const analysis::CollectivePart& part : matched.parts)
            ready = std::max(ready, part.time.start);
        for (const analysis::CollectivePart& part : matched.parts)
            if (matched.overlaps() && records[part.record].device)
                kernels.emplace(std::pair(part.process, part.time.start), CollectiveKernel{number, ready});
        ++number;
    }
    return kernels;
}

/// Calls of a process that wait for the device or for a place in the queue, by end.
struct HostWaits {
    std::vector<analysis::Interval> times = {};
    bool synchronizes = false;
};

std::map<ProcessIndex, HostWaits> waitsOfHosts(const store::RunReader& reader, RunId run,
                                               const TopologyIndex& topology)
{
    LongLaunches launches;
    std::map<ProcessIndex, std::vector<ApiCall>> calls;
    reader.eachApiCall({.run = run}, [&](const ApiCall& call) {
        launches.add(call);
        if (call.kind == ApiKind::Launch || call.kind == ApiKind::Synchronize || call.kind == ApiKind::Wait ||
            call.kind == ApiKind::Memory)
            calls[topology.of(call.thread)].push_back(call);
        return true;
    });
    const Nanoseconds longLaunch = launches.shortest();
    std::map<ProcessIndex, HostWaits> waits;
    for (auto& [process, list] : calls) {
        HostWaits& ofProcess = waits[process];
        for (const ApiCall& call : list) {
            if (call.kind != ApiKind::Launch || call.end - call.start >= longLaunch)
                ofProcess.times.push_back({call.start, call.end});
            ofProcess.synchronizes =
                ofProcess.synchronizes || call.kind == ApiKind::Synchronize || call.kind == ApiKind::Wait;
        }
        std::ranges::sort(ofProcess.times, {}, &analysis::Interval::end);
    }
    return waits;
}

/// Finds the steps in which the GPU is busy and yet waits for each launch, or for another process.
void judgeBusySteps(const store::RunReader& reader, RunId run, const TopologyIndex& topology,
                    const CollectiveKernels& collectives, std::span<StepRow> rows)
{
    const store::EventCounts counts = reader.counts(run);
    if (counts.deviceEvents + counts.apiCalls > kMostJudged)
        return;
    const auto isOpen = [&topology](const StepRow& row) {
        return row.verdict() == analysis::StepVerdict::GpuBound &&
               (row.partition.launching > Nanoseconds(0) || topology.hasSeveral());
    };
    if (std::ranges::none_of(rows, isOpen))
        return;
    std::map<ProcessIndex, HostWaits> waits = waitsOfHosts(reader, run, topology);
    std::map<ProcessIndex, std::vector<analysis::QueuedWork>> works;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        if (event.step == kNoStep)
            return true;
        const ProcessIndex process = topology.of(event.device, event.stream);
        analysis::QueuedWork work{{event.start, event.end}, event.launched, event.stream, event.step};
        if (const auto found = collectives.find({process, event.start}); found != collectives.end()) {
            work.collective = found->second.collective;
            work.ready = std::min(found->second.ready, event.end);
        }
        works[process].push_back(work);
        return true;
    });
    std::vector<analysis::QueuedProcess> queued;
    for (auto& [process, list] : works) {
        std::ranges::stable_sort(list, {}, [](const analysis::QueuedWork& work) { return work.time.start; });
        const HostWaits& ofProcess = waits[process];
        queued.push_back({list, ofProcess.times, ofProcess.synchronizes});
    }
    const std::vector<analysis::StepDeciders> deciders = analysis::deciders(queued);
    for (StepRow& row : rows) {
        const auto process = works.find(row.inRun);
        if (!isOpen(row) || process == works.end())
            continue;
        const analysis::StepDeciders& steps =
            deciders[static_cast<std::size_t>(std::distance(works.begin(), process))];
        const auto decider = steps.find(row.step);
        row.hostDecides = decider != steps.end() && decider->second == analysis::Decider::Host;
        row.waitsForRanks = decider != steps.end() && decider->second == analysis::Decider::OtherProcess;
    }
}

/// The time in which the threads of steps load data, by process.
class LoadingTimes {
public:
    LoadingTimes(const store::RunReader& reader, RunId run, const TopologyIndex& topology)
        : names_(textsOf(reader))
    {
        StepPaths stepPaths(reader);
        reader.eachRange({.run = run}, [&](const Range& range) {
            if (stepPaths.isStep(range))
                threads_.insert(range.thread);
            add(range);
            return true;
        });
        const auto addEach = [this](const auto& event) {
            add(event);
            return true;
        };
        reader.eachOp({.run = run}, addEach);
        reader.eachFrame({.run = run}, addEach);
        for (auto& [thread, list] : times_)
            if (threads_.contains(thread) || threads_.empty())
                std::ranges::move(list, std::back_inserter(ofProcess_[topology.of(thread)]));
        for (auto& [process, list] : ofProcess_)
            list = analysis::unionOf(std::move(list));
    }
    const std::map<ProcessIndex, std::vector<analysis::Interval>>& ofProcess() const { return ofProcess_; }

private:
    void add(const auto& event)
    {
        if (names_.loads(event.name))
            times_[event.thread].push_back({event.start, event.end});
    }

    analysis::DataNames names_;
    std::set<ThreadId> threads_; ///< of steps
    std::map<ThreadId, std::vector<analysis::Interval>> times_;
    std::map<ProcessIndex, std::vector<analysis::Interval>> ofProcess_;
};

/// Finds the steps in which the GPU is idle for want of data.
void findDataWaits(const store::RunReader& reader, RunId run, std::span<StepRow> rows)
{
    const auto isOpen = [](const StepRow& row) {
        return row.verdict() == analysis::StepVerdict::LaunchBound;
    };
    const store::EventCounts counts = reader.counts(run);
    if (counts.deviceEvents + counts.ops > kMostJudged || std::ranges::none_of(rows, isOpen))
        return;
    const ProcessFilter filter(reader, run, {});
    const LoadingTimes loading(reader, run, filter.topology());
    if (loading.ofProcess().empty())
        return;
    std::map<ProcessIndex, std::vector<analysis::Interval>> busy;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        busy[filter.topology().of(event.device, event.stream)].push_back({event.start, event.end});
        return true;
    });
    for (auto& [process, list] : busy)
        list = analysis::unionOf(std::move(list));
    for (StepRow& row : rows) {
        const auto loads = loading.ofProcess().find(row.inRun);
        if (!isOpen(row) || loads == loading.ofProcess().end())
            continue;
        const std::vector<analysis::Interval> idle =
            analysis::difference(std::vector{row.partition.wall}, busy[row.inRun]);
        row.waitsForData = 2 * lengthOf(analysis::intersection(idle, loads->second)) > lengthOf(idle);
    }
}

/// Finds the steps in which the GPU is busy with collectives that wait for other ranks. Time in which other work runs beside them
/// does not count.
void findRankWaits(const store::RunReader& reader, RunId run, const TopologyIndex& topology,
                   const CollectiveKernels& collectives, std::span<StepRow> rows)
{
    if (collectives.empty())
        return;
    std::map<ProcessIndex, std::vector<analysis::Interval>> waits;
    for (const auto& [kernel, collective] : collectives)
        waits[kernel.first].push_back({kernel.second, collective.ready});
    std::map<ProcessIndex, std::vector<analysis::Interval>> others;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        const ProcessIndex process = topology.of(event.device, event.stream);
        if (!collectives.contains({process, event.start}))
            others[process].push_back({event.start, event.end});
        return true;
    });
    for (auto& [process, list] : waits)
        list = analysis::difference(analysis::unionOf(std::move(list)),
                                    analysis::unionOf(std::move(others[process])));
    for (StepRow& row : rows) {
        if (row.verdict() != analysis::StepVerdict::GpuBound)
            continue;
        const Nanoseconds waiting =
            lengthOf(analysis::intersection(waits[row.inRun], std::vector{row.partition.wall}));
        analysis::StepPartition without = row.partition;
        without.gpuBusy -= waiting;
        row.waitsForRanks = verdictOf(without) != analysis::StepVerdict::GpuBound &&
                            waiting >= std::max({without.launching, without.synchronizing, without.tracing,
                                                 without.unexplained});
    }
}

/// Finds what decides the time of the steps in which the GPU is busy.
void findDeciders(const store::RunReader& reader, RunId run, std::span<StepRow> rows)
{
    const auto isBusy = [](const StepRow& row) { return row.verdict() == analysis::StepVerdict::GpuBound; };
    if (std::ranges::none_of(rows, isBusy) || reader.counts(run).deviceEvents > kMostJudged)
        return;
    const ProcessFilter filter(reader, run, {});
    const CollectiveKernels collectives = collectiveKernelsOf(reader, run, filter.topology());
    findRankWaits(reader, run, filter.topology(), collectives, rows);
    judgeBusySteps(reader, run, filter.topology(), collectives, rows);
}

/// Finds the steps of which a large part is due to what was not recorded.
void findUnrecorded(const store::RunReader& reader, RunId run, std::span<StepRow> rows)
{
    const auto isMuch = [](const StepRow& row, Nanoseconds time) {
        return time > Nanoseconds(0) &&
               static_cast<double>(time.count()) >=
                   analysis::kMuchUnrecorded * static_cast<double>(row.partition.wall.length().count());
    };
    const store::EventCounts counts = reader.counts(run);
    if (counts.deviceEvents + counts.apiCalls > kMostJudged ||
        std::ranges::none_of(rows,
                             [&](const StepRow& row) { return isMuch(row, row.partition.unexplained); }))
        return;
    const ProcessFilter filter(reader, run, {});
    std::map<ProcessIndex, analysis::UnrecordedWork> processes;
    reader.eachApiCall({.run = run}, [&](const ApiCall& call) {
        processes[filter.topology().of(call.thread)].addCall(call.kind, {call.start, call.end});
        return true;
    });
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        processes[filter.topology().of(event.device, event.stream)].addActivity(event);
        return true;
    });
    std::map<ProcessIndex, std::vector<analysis::Interval>> times;
    for (const auto& [process, unrecorded] : processes)
        times[process] = unrecorded.times();
    for (StepRow& row : rows)
        if (const Nanoseconds time =
                lengthOf(analysis::intersection(times[row.inRun], std::vector{row.partition.wall}));
            isMuch(row, time)) {
            row.unrecorded = time;
            row.isUnjudged = true;
        }
}

} // namespace

analysis::StepVerdict StepRow::verdict() const
{
    if (!onGpu)
        return analysis::StepVerdict::Cpu;
    if (isUnjudged)
        return analysis::StepVerdict::Unjudged;
    const analysis::StepVerdict verdict = verdictOf(partition);
    if (waitsForRanks && verdict == analysis::StepVerdict::GpuBound)
        return analysis::StepVerdict::RankBound;
    const bool isOfHost = verdict == analysis::StepVerdict::LaunchBound ||
                          (hostDecides && verdict == analysis::StepVerdict::GpuBound);
    if (!isOfHost)
        return verdict;
    return waitsForData ? analysis::StepVerdict::DataBound : analysis::StepVerdict::LaunchBound;
}

std::vector<StepRow> stepsFromEvents(const store::RunReader& reader, RunId run, const ProcessQuery& query,
                                     const std::optional<TimeSpan>& span)
{
    const ProcessFilter filter(reader, run, query);
    const TopologyIndex& topology = filter.topology();
    const store::EventWindow window = windowOf(reader, run, span);
    const KnownWalls known(reader, run, span ? std::optional(window) : std::nullopt);
    std::vector<StepRow> rows;
    StepPaths stepPaths(reader);
    std::vector<Range> stepRanges;
    reader.eachRange(known.events(), [&](const Range& range) {
        if (stepPaths.isStep(range) && filter.has(range.thread) &&
            known.has(topology.of(range.thread), range))
            stepRanges.push_back(range);
        return true;
    });
    std::ranges::sort(stepRanges, {}, &Range::start);
    std::map<ProcessIndex, analysis::ProcessSteps> processes;
    std::map<ProcessIndex, std::vector<analysis::Interval>> walls;
    for (const Range& range : stepRanges) {
        const ProcessIndex process = topology.of(range.thread);
        processes[process].addStep(range.step, {range.start, range.end});
        if (known.any())
            walls[process].push_back(known.of(process, range));
    }
    for (auto& [process, wall] : walls)
        processes[process].setWalls(std::move(wall));
    const bool onGpu = !stepRanges.empty() && reader.counts(run).deviceEvents > 0;
    if (onGpu) {
        reader.eachApiCall(known.events(), [&](const ApiCall& call) {
            processes[topology.of(call.thread)].addCall(call.kind, {call.start, call.end});
            return true;
        });
        reader.eachDeviceEvent(known.events(), [&](const DeviceEvent& event) {
            processes[topology.of(event.device, event.stream)].addDeviceEvent(event);
            return true;
        });
    }
    std::map<ProcessIndex, std::vector<analysis::StepPartition>> partitions;
    for (const auto& [process, steps] : processes)
        partitions[process] = steps.partitions({window.from, window.to});
    std::map<ProcessIndex, std::size_t> next;
    for (const Range& range : stepRanges) {
        const ProcessIndex process = topology.of(range.thread);
        StepRow row{.run = run,
                    .step = range.step,
                    .process = topology.titleOf(process),
                    .rank = rankOf(topology, process),
                    .numbers = numbersOf(topology, process),
                    .inRun = process,
                    .onGpu = onGpu,
                    .partition = partitions[process][next[process]++]};
        if (!onGpu)
            row.partition = {.wall = row.partition.wall};
        if (!span || row.partition.wall.length() > Nanoseconds(0))
            rows.push_back(row);
    }
    return rows;
}

std::vector<StepRow> recordedSteps(const store::RunReader& reader, RunId run)
{
    std::vector<StepRow> rows;
    addSteps(reader, run, {}, {}, rows);
    return rows;
}

std::vector<StepRow> stepsOf(const store::RunReader& reader, RunId run)
{
    return steps(reader, {.run = run}).rows;
}

StepsTable steps(const store::RunReader& reader, const EventQuery& query, const std::optional<TimeSpan>& span)
{
    StepsTable table{.span = span};
    reader.atOnce([&] {
        const std::vector<RunId> asked = chooseRunIds(reader, query.run);
        if (asked.empty())
            return;
        table.last = reader.run(asked.back());
        for (const RunId run : query.run ? asked : reader.runsWithRanges()) {
            const std::size_t first = table.rows.size();
            addSteps(reader, run, query.topology, span, table.rows);
            const std::vector<std::int32_t> unjudged =
                unjudgedSteps(factOf(reader.environment(run), kUnjudgedSteps));
            StepChoice choice = stepChoice(reader, run, query.topology);
            for (std::size_t i = first; i < table.rows.size(); ++i) {
                StepRow& row = table.rows[i];
                row.isUnjudged = std::ranges::binary_search(unjudged, row.step);
                row.leftOut = choice.whyNot(row.numbers.process, row.step);
                row.type = choice.typeOf(row.numbers.process, row.step);
                row.source = choice.source;
            }
            if (!span) {
                const std::span<StepRow> rows = std::span(table.rows).subspan(first);
                findUnrecorded(reader, run, rows);
                findDeciders(reader, run, rows);
                findDataWaits(reader, run, rows);
            }
            if (asked.size() == 1)
                table.choice = std::move(choice);
        }
        table.hasProcesses =
            std::ranges::any_of(table.rows, [](const StepRow& row) { return !row.process.empty(); });
    });
    return table;
}

} // namespace tilescope::query
