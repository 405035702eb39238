#include "core/query/waiting/waiting_records.h"

#include "core/analysis/time/busy_time.h"
#include "core/model/topology_index.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/side_reading.h"
#include "core/query/waiting/peer_waits.h"
#include "core/query/waiting/sampled_ops.h"
#include "core/store/host_sample_reader.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace tilescope::query {

namespace {

/// A launch takes some microseconds unless the queue of its stream is full.
constexpr Nanoseconds kLaunchThatWaits{50'000};

/// What the recording has of one process.
struct ProcessRecords {
    HostSamples samples;
    std::map<DeviceIndex, std::vector<analysis::LaunchedWork>> work;
    std::vector<analysis::CudaCall> calls; ///< CudaCall::name is an index of `callers`
    std::vector<CudaCaller> callers;
    std::vector<analysis::CudaCall> waits;   ///< in which the host waits for a GPU
    std::vector<analysis::Interval> windows; ///< steps; empty: the whole recording
    std::int64_t steps = 0;
};

class WaitingReading {
public:
    WaitingReading(const store::RunReader& reader, const WaitingScope& scope)
        : reader_(reader), scope_(scope), filter_(reader, chooseRun(reader, scope.run).run, scope.topology)
    {
        records_.run = chooseRun(reader, scope.run);
        records_.span = scope.span;
    }

    WaitingRecords read()
    {
        const RunId run = records_.run.run;
        records_.hasGpu = reader_.counts(run).deviceEvents > 0;
        for (const EnvironmentEntry& entry : reader_.environment(run))
            if (entry.key == "record.host_samples")
                records_.recorded = entry.value;
        for (HostSamples& samples : store::hostSamples(reader_.file(), run)) {
            records_.hasStacks = records_.hasStacks || !samples.threads.empty();
            if (!samples.threads.empty() && filter_.has(samples.threads.front().thread))
                processes_[samples.process].samples = std::move(samples);
        }
        if (!records_.hasStacks)
            return std::move(records_);
        readOps();
        readSteps();
        readWork();
        readCalls();
        for (const ThreadName& thread : reader_.threads(run))
            if (thread.name)
                records_.threads[thread.thread] = reader_.text(thread.name);
        const std::vector<ProcessChoice> titles = processChoices(filter_.topology().topology());
        for (auto& [process, records] : processes_) {
            if (scope_.step && records.windows.empty())
                continue;
            ProcessIdle idle{.process = process,
                             .rank = rankOf(filter_.topology(), process),
                             .numbers = numbersOf(filter_.topology(), process),
                             .steps = records.steps,
                             .callers = std::move(records.callers)};
            for (const ProcessChoice& title : titles)
                if (title.process == process)
                    idle.title = title.title;
            for (const auto& [device, work] : records.work) {
                const auto [known, isNew] = idle.devices.emplace(
                    device, analysis::idleTime(work, records.samples, records.calls, records.windows));
                idle.gpuTitles.emplace(device, deviceTitle(filter_.topology(), device));
                for (const analysis::IdlePlace& place : known->second.places)
                    if (place.endedBy)
                        records_.names.try_emplace(place.endedBy, reader_.text(place.endedBy));
            }
            std::vector<analysis::LaunchedWork> all;
            for (const auto& [device, work] : records.work)
                all.insert(all.end(), work.begin(), work.end());
            idle.lead = analysis::hostLead(all, records.waits, records.windows);
            idle.stacks = std::move(records.samples.stacks);
            records_.processes.push_back(std::move(idle));
        }
        return std::move(records_);
    }

private:
    void readOps()
    {
        std::map<ProcessIndex, SampledOps> processes;
        for (auto& [process, records] : processes_)
            processes.emplace(process, records.samples);
        reader_.eachOp({.run = records_.run.run}, [&](const Op& op) {
            const auto process = processes.find(filter_.topology().of(op.thread));
            if (process != processes.end())
                process->second.add(op);
            return true;
        });
        for (auto& [process, ops] : processes)
            ops.join([this](StringId name) { return std::string(reader_.text(name)); });
    }

    void readSteps()
    {
        if (scope_.span) {
            const store::EventWindow window = windowOf(reader_, records_.run.run, scope_.span);
            for (auto& [process, records] : processes_)
                records.windows = {{window.from, window.to}};
            return;
        }
        std::map<std::int32_t, int> numbers;
        if (!scope_.step)
            records_.choice = stepChoice(reader_, records_.run.run, scope_.topology);
        for (const analysis::RecordedStep& step :
             pathSteps(reader_, records_.run.run, filter_.topology(), [] { return false; })) {
            const auto process = processes_.find(step.process);
            if (process == processes_.end() || step.step == kNoStep ||
                (scope_.step && step.step != *scope_.step) ||
                !records_.choice.isTypical(numbersOf(filter_.topology(), step.process).process, step.step))
                continue;
            process->second.windows.push_back(step.wall);
            ++process->second.steps;
            ++numbers[step.step];
        }
        for (auto& [process, records] : processes_)
            records.windows = analysis::unionOf(std::move(records.windows));
        records_.steps = std::ssize(numbers);
        records_.hasStep = !scope_.step || records_.steps > 0;
    }

    void readWork()
    {
        reader_.eachDeviceEvent({.run = records_.run.run}, [this](const DeviceEvent& event) {
            const auto process = processes_.find(filter_.topology().of(event.device, event.stream));
            if (process != processes_.end())
                process->second.work[event.device].push_back(
                    {.start = event.start,
                     .end = event.end,
                     .launched = event.launched == Timestamp{} ? std::nullopt : std::optional(event.launched),
                     .thread = event.launchThread,
                     .name = event.name});
            return true;
        });
        for (auto& [number, process] : processes_)
            for (auto& [device, work] : process.work)
                std::ranges::stable_sort(work, {}, &analysis::LaunchedWork::start);
        if (scope_.span)
            for (auto& [number, process] : processes_)
                process.windows = {workWithin(process)};
    }

    /// The span that was asked for, from the first work to the last: it may reach beyond the recording.
    static analysis::Interval workWithin(const ProcessRecords& process)
    {
        const analysis::Interval asked = process.windows.front();
        analysis::Interval all{asked.end, asked.start};
        for (const auto& [device, work] : process.work)
            for (const analysis::LaunchedWork& each : work)
                all = {std::min(all.start, each.start), std::max(all.end, each.end)};
        const Timestamp start = std::clamp(all.start, asked.start, asked.end);
        return {start, std::clamp(all.end, start, asked.end)};
    }

    void readCalls()
    {
        // The stack at the beginning of a call is noted as that of a launch.
        std::map<ThreadId, std::vector<HostSample>> launches;
        for (const auto& [number, process] : processes_)
            for (const SampledHostThread& thread : process.samples.threads)
                std::ranges::copy_if(thread.samples, std::back_inserter(launches[thread.thread]),
                                     &HostSample::isLaunch);
        std::map<std::pair<ProcessIndex, CudaCaller>, std::uint32_t> callers;
        reader_.eachApiCall({.run = records_.run.run}, [&](const ApiCall& call) {
            if (call.kind == ApiKind::Overhead || call.kind == ApiKind::Wait)
                return true;
            const auto process = processes_.find(filter_.topology().of(call.thread));
            if (process == processes_.end())
                return true;
            if (call.kind == ApiKind::Synchronize ||
                (call.kind == ApiKind::Launch && call.end - call.start >= kLaunchThatWaits))
                process->second.waits.push_back(
                    {.start = call.start, .end = call.end, .thread = call.thread});
            if (call.kind == ApiKind::Launch)
                return true;
            CudaCaller caller{.call = std::string(reader_.text(call.name)),
                              .synchronizes = call.kind == ApiKind::Synchronize};
            const std::vector<HostSample>& own = launches[call.thread];
            const auto at = std::ranges::lower_bound(own, call.start, {}, &HostSample::time);
            if (at != own.end() && at->time == call.start)
                caller.stack = at->stack;
            std::vector<CudaCaller>& all = process->second.callers;
            const auto [known, isNew] =
                callers.try_emplace({process->first, caller}, static_cast<std::uint32_t>(all.size()));
            if (isNew)
                all.push_back(std::move(caller));
            process->second.calls.push_back(
                {.start = call.start, .end = call.end, .thread = call.thread, .name = known->second});
            return true;
        });
    }

    const store::RunReader& reader_;
    const WaitingScope& scope_;
    ProcessFilter filter_;
    WaitingRecords records_;
    std::map<ProcessIndex, ProcessRecords> processes_;
};

/// The sum of a figure over the devices of all processes.
template <class Figure> auto sumOver(const WaitingRecords& records, Figure figure)
{
    decltype(figure(analysis::IdleTime())) sum{};
    for (const ProcessIdle& process : records.processes)
        for (const auto& [device, idle] : process.devices)
            sum += figure(idle);
    return sum;
}

} // namespace

Nanoseconds WaitingRecords::idle() const
{
    return sumOver(*this, [](const analysis::IdleTime& idle) { return idle.total; });
}

Nanoseconds WaitingRecords::busy() const
{
    return sumOver(*this, [](const analysis::IdleTime& idle) { return idle.busy; });
}

std::int64_t WaitingRecords::samples() const
{
    return sumOver(*this, [](const analysis::IdleTime& idle) { return std::int64_t{std::ssize(idle.hits)}; });
}

double WaitingRecords::lateShare() const
{
    const auto late =
        static_cast<double>(sumOver(*this, [](const analysis::IdleTime& idle) { return idle.lateHits; }));
    return late > 0 ? late / static_cast<double>(samples()) : 0;
}

analysis::HostLead WaitingRecords::lead() const
{
    analysis::HostLead all;
    for (const ProcessIdle& process : processes) {
        all.launches += process.lead.launches;
        all.lead += process.lead.lead;
        all.work += process.lead.work;
    }
    return all;
}

std::string WaitingRecords::threadName(ThreadId thread) const
{
    const auto known = threads.find(thread);
    return known == threads.end() ? "thread " + std::to_string(thread.value) : known->second;
}

WaitingRecords waitingRecords(const store::RunReader& reader, const WaitingScope& scope)
{
    const store::RunRecord run = chooseRun(reader, scope.run);
    const std::function<bool()> never = [] { return false; };
    SideReading<RanksTable> ranks(reader, run, never,
                                  [query = RankQuery{.run = run.run,
                                                     .topology = {.allSteps = scope.topology.allSteps},
                                                     .step = scope.step,
                                                     .span = scope.span}](
                                      const store::RunReader& own, const std::function<bool()>& isCancelled) {
                                      // Without stacks the table of waiting is empty.
                                      const bool isWanted = store::hasHostSamples(own.file(), *query.run) &&
                                                            !own.collectives(*query.run).empty();
                                      return isWanted ? query::ranks(own, query, isCancelled) : RanksTable{};
                                  });
    WaitingRecords records;
    reader.atOnce([&] { records = WaitingReading(reader, scope).read(); });
    addPeers(ranks.take(), records);
    return records;
}

std::string whyNothingWaits(const WaitingRecords& records)
{
    const std::string run = "Run " + std::to_string(records.run.run.value);
    if (!records.hasGpu)
        return run + " recorded no work of a GPU, so that nothing waits for the host.";
    if (!records.hasStacks && records.recorded.empty())
        return run + " holds no stacks of Python at launches: record a Python program that uses a GPU with "
                     "`tilescope record`, without `--host-samples off`.";
    if (!records.hasStacks)
        return run + " holds no stacks of Python at launches: " + records.recorded + ".";
    return records.hasStep ? "The GPU was never idle." : run + " has no such step.";
}

} // namespace tilescope::query
