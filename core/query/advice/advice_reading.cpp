#include "core/query/advice/advice_trace.h"

#include "core/analysis/advice/recomputation.h"
#include "core/analysis/memory/library_frame.h"
#include "core/analysis/steps/start_cause.h"
#include "core/analysis/time/data_loading.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/step_walls.h"
#include "core/analysis/time/unrecorded_work.h"
#include "core/analysis/work/device_sheets.h"
#include "core/model/environment_facts.h"
#include "core/query/advice/activity_kinds.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/per_process.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::GroupedTime;

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

std::optional<double> rateOf(const analysis::DeviceSheet& sheet, Precision precision)
{
    const auto found = sheet.flops.find(precision);
    return found == sheet.flops.end() ? std::nullopt : std::optional(found->second);
}

std::optional<analysis::ProductRates> productRates(std::string_view deviceName)
{
    const analysis::DeviceSheet* const sheet = analysis::DeviceSheets::standard().find(deviceName);
    if (!sheet)
        return {};
    const std::optional<double> bf16 = rateOf(*sheet, Precision::Bf16);
    return analysis::ProductRates{.fp32 = rateOf(*sheet, Precision::Fp32),
                                  .tf32 = rateOf(*sheet, Precision::Tf32),
                                  .low = bf16 ? bf16 : rateOf(*sheet, Precision::Fp16)};
}

/// Calls after which only a stream waits, and copies that the host does not wait for, do not.
bool holdsTheHost(std::string_view call)
{
    const auto has = [call](std::string_view word) { return call.find(word) != std::string_view::npos; };
    if (has("Memcpy") || has("Memset"))
        return !has("Async");
    return !has("WaitEvent");
}

/// Takes memory from the driver or returns it.
bool isAllocation(std::string_view call)
{
    return call.find("Memcpy") == std::string_view::npos && call.find("Memset") == std::string_view::npos;
}

/// Whether a process does this once, before its steps are like each other.
bool isStartUp(analysis::StartCause cause)
{
    using analysis::StartCause;
    return cause == StartCause::Compilation || cause == StartCause::Tuning ||
           cause == StartCause::Initialisation || cause == StartCause::ModuleLoading;
}

// What takes less is part of every step: a look-up in a cache, attributes of a function.
constexpr Nanoseconds kShortestStartCall{100'000};
constexpr Nanoseconds kShortestStart{1'000'000};
constexpr Nanoseconds kFirstLaunch{1'000'000}; ///< a launch takes as long only where it loads the kernel

void leaveOutThoseWithoutSteps(std::vector<AdviceTrace>& traces)
{
    const auto hasSteps = [](const AdviceTrace& trace) { return !trace.isWhole && !trace.walls.empty(); };
    if (std::ranges::any_of(traces, hasSteps))
        std::erase_if(traces, [&](const AdviceTrace& trace) { return !hasSteps(trace); });
}

/// What the processes of a run have in common.
struct RunFacts {
    RunFacts(const store::RunReader& ofReader, const store::RunRecord& ofRun, const StepChoice& ofSteps,
             AdviceSources& ofAll, const std::function<bool()>& isCancelled)
        : reader(ofReader), run(ofRun), choice(ofSteps), sources(ofAll), cancelled(isCancelled),
          topology(ofReader.topology(ofRun.run)), environment(ofReader.environment(ofRun.run)),
          counts(ofReader.counts(ofRun.run)), computedSteps(threadsOfComputedSteps(ofReader, ofRun.run)),
          textOf(textsOf(ofReader)), kernels(ofReader, ofRun.run)
    {
    }

    const store::RunReader& reader;
    const store::RunRecord& run;
    const StepChoice& choice;
    AdviceSources& sources;
    const std::function<bool()>& cancelled;
    const RunTopology topology;
    const std::vector<EnvironmentEntry> environment;
    const store::EventCounts counts;
    const std::unordered_set<ThreadId> computedSteps; ///< their threads
    const analysis::TextOf textOf;
    RunKernels kernels;
    analysis::RecomputedOps recomputation;
    std::unordered_set<std::uint32_t> collectives; ///< correlations of their kernels

    ProcessFilter filterOf(const ProcessQuery& query)
    {
        if (!query.rank && !query.pid)
            return {reader, run.run, query};
        if (!filter_)
            filter_.emplace(reader, run.run, query);
        return {*filter_, query};
    }
    /// Read when a process needs them.
    const std::vector<analysis::RecordedStep>& steps(const TopologyIndex& index)
    {
        if (!steps_)
            steps_ = pathSteps(reader, run.run, index, cancelled);
        return *steps_;
    }

private:
    std::optional<ProcessFilter> filter_; ///< the first of a process
    std::optional<std::vector<analysis::RecordedStep>> steps_;
};

/// The trace of one process. Events come by kind, each kind nearly in start order: ranges, ops, calls, device events,
/// frames, allocations, those that addToReadings() lists.
class AdviceReading {
public:
    /// \param all  kept by the caller
    AdviceReading(RunFacts& all, const ProcessQuery& topology, const TracedProcess* process)
        : all_(all), reader_(all.reader), run_(all.run), choice_(all.choice), sources_(all.sources),
          textOf_(all.textOf), filter_(all.filterOf(topology)),
          kinds_(textOf_, all.kernels, trace_, all.sources, all.collectives)
    {
        if (process)
            trace_.rank = process->rank;
        trace_.numbers = numbersOf(filter_.topology(), process ? process->id : ProcessIndex{});
        process_ = trace_.numbers.process;
        trace_.onGpu = all.counts.deviceEvents > 0;
        trace_.hasHostEvents = all.counts.ranges + all.counts.ops + all.counts.frames > 0;
        readDevices(all.topology);
    }

    const ProcessFilter& filter() const { return filter_; }
    bool onGpu() const { return trace_.onGpu; }

    AdviceTrace take()
    {
        finish();
        if (all_.cancelled())
            trace_.walls.clear();
        return std::move(trace_);
    }

    /// The first launch of the process: any call before it may initialise CUDA.
    bool knowsFirstWork() const { return firstWork_ != Timestamp::min(); }
    void noteFirstWork(const DeviceEvent& event)
    {
        if (!knowsFirstWork() && filter_.has(event))
            firstWork_ = event.launched == Timestamp{} ? event.start : event.launched;
    }

    void add(const Range& range)
    {
        if (!filter_.has(range.thread))
            return;
        if (stepPaths_.isStep(range))
            steps_.push_back(range);
        if (loads(range.name))
            loadingRanges_.push_back(range);
        cover(range.start, range.end);
        if (range.id && range.id.value < kMostNumbered) {
            if (range.id.value >= rangePaths_.size())
                rangePaths_.resize(std::size_t{range.id.value} + 1);
            rangePaths_[range.id.value] = range.path;
        }
    }

    /// The thread that counts is known once all steps are.
    void endRanges()
    {
        std::ranges::sort(steps_, {}, &Range::start);
        for (const Range& step : steps_)
            walls_.addStep(step.step, {step.start, step.end});
        lastLaunches_.assign(steps_.size(), Timestamp::min());
        firstLaunches_.assign(steps_.size(), Timestamp::max());
        if (!steps_.empty())
            mainThread_ = threadOf(steps_.front());
        for (const Range& range : loadingRanges_)
            addLoading("range", range.name, range.thread, range.start, range.end);
        loadingRanges_ = {};
        steps_ = {};
    }

    /// Again, after endRanges(), of a run with a GPU.
    void addStart(const Range& range)
    {
        if (filter_.has(range.thread))
            addStart("range", range.name, range.thread, {range.start, range.end});
    }

    void add(const Op& op)
    {
        if (!filter_.has(op.thread))
            return;
        cover(op.start, op.end);
        addLoading("op", op.name, op.thread, op.start, op.end);
        if (trace_.onGpu) {
            addStart("op", op.name, op.thread, {op.start, op.end});
            addCode({op.start, op.end});
            trace_.hasOps = true;
        }
    }

    void endOps() { trace_.hasBackwardOps = all_.recomputation.hasBackward(); }

    /// Again, after endOps(), of a run without a GPU.
    void addRecomputed(const Op& op)
    {
        if (filter_.has(op.thread) && all_.recomputation.has(op.id))
            trace_.recomputed.push_back(
                {{op.start, op.end}, sources_.of({.kind = "module", .name = kinds_.placeOrNone(op.path)})});
    }

    void add(const ApiCall& call)
    {
        if (!filter_.has(call.thread))
            return;
        const analysis::Interval time{call.start, call.end};
        trace_.hasCalls = true;
        unrecorded_.addCall(call.kind, time);
        cover(call.start, call.end);
        addCode(time);
        if (call.kind != ApiKind::Overhead && addStart("call", call.name, call.thread, time))
            return;
        if (call.kind == ApiKind::Launch && call.correlation && time.length() >= kFirstLaunch)
            longLaunches_.emplace(call.correlation.value, LongLaunch{time, call.name});
        switch (call.kind) {
        case ApiKind::Overhead:
            trace_.host.tracing.push_back(time);
            break;
        case ApiKind::Synchronize:
            starts_.push_back(call.start);
            if (isOwnTiming(call))
                timing_.push_back(time);
            else if (holdsTheHost(textOf_(call.name)))
                addWait(call);
            break;
        case ApiKind::Wait:
            waitedFor_.push_back(time);
            break;
        case ApiKind::Launch:
            noteLaunch(stepAt(call.start), call.end);
            break;
        case ApiKind::Memory:
            if (const std::string_view name = textOf_(call.name); isAllocation(name))
                trace_.host.allocating.push_back(
                    {time, sources_.of({.kind = "call",
                                        .name = std::string(name),
                                        .place = kinds_.placeOf(pathOf(call.range))})});
            else if (holdsTheHost(name))
                addWait(call);
            break;
        default:
            break;
        }
    }

    void add(const DeviceEvent& event)
    {
        if (!filter_.has(event))
            return;
        cover(event.start, event.end);
        unrecorded_.addActivity(event);
        noteActivity(event);
        const std::uint32_t kind = kinds_.of(event, all_.recomputation.has(event.op));
        if (event.kind == DeviceEventKind::Kernel && launchedNames_.insert(event.name).second)
            addFirstLaunch(event);
        const auto number = static_cast<std::uint32_t>(trace_.activities.size());
        if (trace_.kinds[kind].isBetweenHostAndDevice())
            trace_.copies.push_back({number, event.bytes});
        if (trace_.kinds[kind].work == analysis::DeviceWork::Communication)
            trace_.communications.emplace_back(number, event.correlation.value);
        if (event.graphNode != 0)
            trace_.replayed.push_back(number);
        trace_.activities.push_back({{event.start, event.end}, kind, event.device, event.stream});
        if (event.start > busyUntil_)
            trace_.host.next.push_back({{event.start, event.end}, kinds_.placeSourceOf(kind)});
        busyUntil_ = std::max(busyUntil_, event.end);
    }

    /// Before the first frame.
    void beginFrames()
    {
        for (WaitingCall& wait : waits_)
            waitsByThread_[wait.thread].push_back(&wait);
        for (auto& [thread, list] : waitsByThread_)
            std::ranges::sort(list, {}, [](const WaitingCall* wait) { return wait->time.time.start; });
    }

    /// Finds the function of the program that was open at each call that waits: the innermost that is not a library's.
    void add(const Frame& frame)
    {
        if (!filter_.has(frame.thread))
            return;
        addLoading("frame", frame.name, frame.thread, frame.start, frame.end);
        if (trace_.onGpu)
            addStart("frame", frame.name, frame.thread, {frame.start, frame.end});
        const auto found = waitsByThread_.find(frame.thread);
        if (found == waitsByThread_.end())
            return;
        auto wait = std::ranges::lower_bound(found->second, frame.start, {},
                                             [](const WaitingCall* each) { return each->time.time.start; });
        const std::string_view name = textOf_(frame.name);
        const bool isLibrary = analysis::isLibraryFrame(name) || name.starts_with("nn.Module:");
        for (; wait != found->second.end() && (*wait)->time.time.start < frame.end; ++wait) {
            WaitingCall& call = **wait;
            const bool isBetter =
                call.isLibrary != isLibrary ? call.isLibrary : frame.start >= call.frameStart;
            if (call.frame && !isBetter)
                continue;
            call.frame = frame.name;
            call.frameStart = frame.start;
            call.isLibrary = isLibrary;
        }
    }

    void add(const AllocEvent& event)
    {
        if (!event.device || !filter_.hasDevice(event.device))
            return;
        trace_.hasReserved = trace_.hasReserved || event.reserved > 0;
        if (Bytes{event.allocated} > trace_.allocatedAtPeak) {
            trace_.allocatedAtPeak = Bytes{event.allocated};
            trace_.reservedAtPeak = Bytes{event.reserved};
        }
    }

private:
    struct WaitingCall {
        GroupedTime time{};
        StringId name = {};
        StringId path = {};
        ThreadId thread = {};
        Timestamp frameStart = Timestamp::min(); ///< of the innermost frame so far
        StringId frame = {};
        bool isLibrary = true;
    };
    void readDevices(const RunTopology& topology)
    {
        const auto valueOf = [&](const std::string& key) { return factOf(all_.environment, key); };
        const auto add = [&](DeviceIndex id, std::string name, const std::string& capability,
                             std::optional<int> multiprocessors) {
            trace_.devices[id] = {.name = name,
                                  .limits = analysis::multiprocessorLimits(capability),
                                  .multiprocessors = multiprocessors,
                                  .rates = productRates(name)};
        };
        for (std::int16_t i = 0; i < kMostDevices; ++i) {
            const std::string key = "gpu." + std::to_string(i) + ".";
            const std::string name = valueOf(key + "name");
            if (name.empty() && valueOf(key + "compute_capability").empty())
                break;
            int multiprocessors = 0;
            const std::string text = valueOf(key + "multiprocessors");
            std::from_chars(text.data(), text.data() + text.size(), multiprocessors);
            add(DeviceIndex{i}, name, valueOf(key + "compute_capability"),
                multiprocessors > 0 ? std::optional(multiprocessors) : std::nullopt);
        }
        const std::set<DeviceIndex> own = ownDevices();
        for (const TracedDevice& device : topology.devices)
            if ((own.empty() || own.contains(device.id)) &&
                (!device.name.empty() || !device.capability.empty()))
                add(device.id, device.name, device.capability, device.multiprocessors);
    }

    /// The devices that the process uses; none: all.
    std::set<DeviceIndex> ownDevices() const
    {
        std::set<DeviceIndex> devices;
        if (filter_.process())
            for (const TracedStream& stream : filter_.topology().topology().streams)
                if (stream.process == filter_.process() && stream.device)
                    devices.insert(stream.device);
        return devices;
    }

    bool loads(StringId name)
    {
        const auto [known, isNew] = loading_.try_emplace(name, false);
        if (isNew && name)
            known->second = analysis::loadsData(textOf_(name));
        return known->second;
    }

    void addLoading(std::string kind, StringId name, ThreadId thread, Timestamp start, Timestamp end)
    {
        if (!loads(name) || (mainThread_ && thread != mainThread_))
            return;
        trace_.loading.push_back(
            {{start, end}, sources_.of({.kind = std::move(kind), .name = std::string(textOf_(name))})});
    }

    /// \return  whether the event is start-up
    bool addStart(std::string kind, StringId name, ThreadId thread, const analysis::Interval& time)
    {
        if (time.length() < (kind == "call" ? kShortestStartCall : kShortestStart) ||
            (mainThread_ && thread != mainThread_ && kind != "call"))
            return false;
        const bool isFirst = kind == "call" && time.start < firstWork_;
        const auto [known, isNew] = startCauses_.try_emplace({name, isFirst}, analysis::kNoStartCause);
        if (isNew && name)
            known->second = analysis::startCauseOf(textOf_(name), isFirst);
        if (!isStartUp(known->second))
            return false;
        trace_.host.starting.push_back({time, sources_.of({.kind = std::move(kind),
                                                           .name = std::string(textOf_(name)),
                                                           .note = std::string(nounOf(known->second))})});
        return true;
    }

    /// Some thread is in an op or a call.
    void addCode(const analysis::Interval& time)
    {
        std::vector<analysis::Interval>& code = trace_.inCode;
        if (!code.empty() && time.start >= code.back().start && time.start <= code.back().end)
            code.back().end = std::max(code.back().end, time.end);
        else
            code.push_back(time);
    }

    void cover(Timestamp start, Timestamp end)
    {
        whole_.start = std::min(whole_.start, start);
        whole_.end = std::max(whole_.end, end);
    }

    /// The thread of a step; of one that is computed, that whose ranges end with such steps. None: unknown.
    ThreadId threadOf(const Range& step) const
    {
        if (!all_.computedSteps.contains(step.thread))
            return step.thread;
        for (const analysis::RecordedStep& each : all_.steps(filter_.topology()))
            if (each.process == filter_.topology().of(step.thread))
                return each.thread;
        return {};
    }

    /// For runs of Tilescope: a wait at the end of a step or phase is part of the measurement, not of the
    /// program.
    bool isOwnTiming(const ApiCall& call)
    {
        if (run_.coversRecording())
            return false;
        const StringId path = pathOf(call.range);
        return path && analysis::fromStepDown(textOf_(path)).starts_with("step") &&
               analysis::moduleOf(analysis::fromStepDown(textOf_(path))).empty();
    }

    /// The measurement also takes the time until the GPU has work again, because it emptied the queue.
    void addTiming()
    {
        std::ranges::sort(trace_.host.next, {}, [](const GroupedTime& each) { return each.time.start; });
        for (const analysis::Interval& wait : timing_) {
            const auto next = std::ranges::lower_bound(
                trace_.host.next, wait.end, {}, [](const GroupedTime& each) { return each.time.start; });
            trace_.host.tracing.push_back(
                {wait.start, next == trace_.host.next.end() ? wait.end : next->time.start});
        }
    }

    void addWait(const ApiCall& call)
    {
        waits_.push_back({.time = {{call.start, call.end}, 0},
                          .name = call.name,
                          .path = pathOf(call.range),
                          .thread = call.thread});
    }

    StringId pathOf(RangeId range) const
    {
        return range && range.value < rangePaths_.size() ? rangePaths_[range.value] : StringId{};
    }

    /// A launch that takes long, and is the first one of its kernel, loads the kernel.
    void addFirstLaunch(const DeviceEvent& event)
    {
        const auto launch = longLaunches_.find(event.correlation.value);
        if (event.correlation && launch != longLaunches_.end())
            trace_.host.starting.push_back(
                {launch->second.time, sources_.of({.kind = "call",
                                                   .name = std::string(textOf_(launch->second.name)),
                                                   .note = "first launch of a kernel, which is loaded"})});
    }

    void finish()
    {
        trace_.walls = walls_.list();
        if (trace_.walls.empty() && whole_.start < whole_.end) {
            trace_.walls = {whole_};
            trace_.isWhole = true;
        }
        for (const WaitingCall& wait : waits_)
            trace_.host.waiting.push_back(
                {wait.time.time, sources_.of({.kind = "call",
                                              .name = std::string(textOf_(wait.name)),
                                              .place = wait.frame ? std::string(textOf_(wait.frame))
                                                                  : kinds_.placeOf(wait.path)})});
        for (const analysis::Interval& time : waitedFor_)
            trace_.host.waiting.push_back({time, sources_.of({.kind = "call", .name = "wait"})});
        trace_.inCode = analysis::unionOf(std::move(trace_.inCode));
        trace_.host.unrecorded = unrecorded_.times();
        noteErrands();
        addTiming();
        keepTypical();
        if (trace_.onGpu)
            trace_.host.loading = trace_.loading;
    }

    /// Leaves out the steps that are not typical.
    void keepTypical()
    {
        if (trace_.isWhole || choice_.leftOut.empty())
            return;
        std::vector<analysis::Interval> walls;
        std::vector<Timestamp> errands;
        for (std::size_t i = 0; i < trace_.walls.size(); ++i) {
            if (!choice_.isTypical(process_, walls_.steps()[i].number))
                continue;
            walls.push_back(trace_.walls[i]);
            errands.push_back(trace_.host.lastErrands[i]);
        }
        trace_.walls = std::move(walls);
        trace_.host.lastErrands = std::move(errands);
    }

    /// The step in whose range on the host an instant lies.
    std::optional<std::size_t> stepAt(Timestamp time) const
    {
        const std::vector<analysis::HostStep>& steps = walls_.steps();
        const auto after = std::ranges::upper_bound(
            steps, time, {}, [](const analysis::HostStep& step) { return step.range.start; });
        if (after == steps.begin() || (after - 1)->range.end <= time)
            return {};
        return static_cast<std::size_t>(after - steps.begin() - 1);
    }

    void noteLaunch(std::optional<std::size_t> step, Timestamp time)
    {
        trace_.hasLaunches = true;
        lastLaunch_ = std::max(lastLaunch_, time);
        if (step)
            lastLaunches_[*step] = std::max(lastLaunches_[*step], time);
    }

    void noteActivity(const DeviceEvent& event)
    {
        std::optional<std::size_t> step = walls_.addWork(event);
        if (event.launched == Timestamp{})
            return;
        if (step)
            firstLaunches_[*step] = std::min(firstLaunches_[*step], event.launched);
        if (step && event.launched >= walls_.steps()[*step].range.end)
            step.reset();
        noteLaunch(step, event.launched);
    }

    /// The last time at which the host worked on something for the GPU, by the rule of partitionStep(): a
    /// step's own launches, the start of waiting calls, and the first launch of the next step if its work ends this one.
    void noteErrands()
    {
        std::ranges::sort(starts_);
        std::vector<Timestamp> begins; // of the GPU's work
        for (const GroupedTime& each : trace_.host.next)
            begins.push_back(each.time.start);
        std::ranges::sort(begins);
        const auto endsWithWork = [&](std::size_t step) {
            return step + 1 < trace_.walls.size() && step + 1 < firstLaunches_.size() &&
                   trace_.walls[step + 1].start == trace_.walls[step].end &&
                   firstLaunches_[step + 1] != Timestamp::max() &&
                   std::ranges::binary_search(begins, trace_.walls[step].end);
        };
        for (std::size_t i = 0; i < trace_.walls.size(); ++i) {
            Timestamp last = trace_.isWhole ? lastLaunch_ : lastLaunches_[i];
            const auto after = std::ranges::lower_bound(starts_, trace_.walls[i].end);
            if (after != starts_.begin())
                last = std::max(last, *(after - 1));
            if (endsWithWork(i))
                last = std::max(last, std::min(firstLaunches_[i + 1], trace_.walls[i].end));
            trace_.host.lastErrands.push_back(last);
        }
    }

    static constexpr std::int16_t kMostDevices = 64;
    static constexpr std::uint32_t kMostNumbered = 1U << 28; // numbers of a damaged file

    RunFacts& all_;
    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const StepChoice& choice_;
    AdviceSources& sources_;
    const analysis::TextOf& textOf_;
    ProcessFilter filter_;
    AdviceTrace trace_;
    std::optional<std::int32_t> process_ = {}; ///< number in the run; none: the only one
    analysis::StepWalls walls_;
    StepPaths stepPaths_{reader_};
    std::vector<Range> steps_;
    std::vector<Range> loadingRanges_;
    analysis::Interval whole_{Timestamp::max(), Timestamp::min()};
    ThreadId mainThread_ = {}; ///< of the steps
    std::vector<StringId> rangePaths_;
    std::vector<WaitingCall> waits_;
    std::unordered_map<ThreadId, std::vector<WaitingCall*>> waitsByThread_;
    std::vector<analysis::Interval> waitedFor_; ///< of older files: within the calls
    analysis::UnrecordedWork unrecorded_;
    std::vector<analysis::Interval> timing_; ///< waits of Tilescope's own measurement
    std::vector<Timestamp> starts_;          ///< of calls that wait, or let a stream wait
    std::vector<Timestamp> lastLaunches_;    ///< by step
    std::vector<Timestamp> firstLaunches_;   ///< by step, of its work on the device
    Timestamp lastLaunch_ = Timestamp::min();
    Timestamp busyUntil_ = Timestamp::min(); ///< the devices of the process
    ActivityKinds kinds_;
    std::unordered_map<StringId, bool> loading_;
    struct LongLaunch {
        analysis::Interval time{};
        StringId name = {};
    };
    Timestamp firstWork_ = Timestamp::min();
    std::map<std::pair<StringId, bool>, analysis::StartCause>
        startCauses_;                                            ///< by name, and whether it was a first call
    std::unordered_map<std::uint32_t, LongLaunch> longLaunches_; ///< by correlation
    std::unordered_set<StringId> launchedNames_;
};

using AdviceReadings = PerProcess<AdviceReading>;

/// Finds the first work of each process. Most begin early, so this seldom reads much.
void findFirstWork(RunFacts& all, AdviceReadings& readings)
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
void addToReadings(RunFacts& all, AdviceReadings& readings)
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
            if (collective.correlation)
                all.collectives.insert(collective.correlation.value);
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
        RunFacts all(reader, traces.run, traces.choice, traces.sources, cancelled);
        const std::vector<ProcessChoice> choices = processChoices(all.topology);
        AdviceReadings readings;
        const bool ofEach = topology.empty() && !choices.empty();
        if (ofEach) {
            traces.process = processWords(choices, {});
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
        if (ofEach)
            leaveOutThoseWithoutSteps(traces.processes);
    });
    return traces;
}

} // namespace tilescope::query
