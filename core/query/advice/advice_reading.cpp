#include "core/query/advice/advice_reading.h"

#include "core/analysis/memory/library_frame.h"
#include "core/analysis/time/data_loading.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/device_sheets.h"
#include "core/model/environment_facts.h"
#include "core/query/runs/process_rank.h"

#include <algorithm>
#include <charconv>

namespace tilescope::query {

namespace {

using analysis::GroupedTime;

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

} // namespace

AdviceReading::AdviceReading(AdvisedRun& all, const ProcessQuery& topology, const TracedProcess* process)
    : all_(all), reader_(all.reader), run_(all.run), choice_(all.choice), sources_(all.sources),
      textOf_(all.textOf), filter_(all.filterOf(topology)),
      kinds_(textOf_, all.kernels, trace_, all.sources, all.collectives), dataNames_(textOf_)
{
    if (process)
        trace_.rank = process->rank;
    trace_.numbers = numbersOf(filter_.topology(), process ? process->id : ProcessIndex{});
    process_ = trace_.numbers.process;
    trace_.onGpu = all.counts.deviceEvents > 0;
    trace_.hasHostEvents = all.counts.ranges + all.counts.ops + all.counts.frames > 0;
    readDevices(all.topology);
}

AdviceTrace AdviceReading::take()
{
    finish();
    if (all_.cancelled())
        trace_.walls.clear();
    return std::move(trace_);
}

void AdviceReading::noteFirstWork(const DeviceEvent& event)
{
    if (!knowsFirstWork() && filter_.has(event))
        firstWork_ = event.launched == Timestamp{} ? event.start : event.launched;
}

void AdviceReading::add(const Range& range)
{
    if (stepPaths_.isStep(range))
        steps_.push_back(range);
    if (dataNames_.loads(range.name))
        loadingRanges_.push_back(range);
    cover(range.start, range.end);
    if (range.id && range.id.value < kMostNumbered) {
        if (range.id.value >= rangePaths_.size())
            rangePaths_.resize(std::size_t{range.id.value} + 1);
        rangePaths_[range.id.value] = range.path;
    }
}

void AdviceReading::endRanges()
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

void AdviceReading::addStart(const Range& range)
{
    addLongStart("range", range.name, range.thread, {range.start, range.end});
}

void AdviceReading::add(const Op& op)
{
    cover(op.start, op.end);
    addLoading("op", op.name, op.thread, op.start, op.end);
    if (trace_.onGpu) {
        addLongStart("op", op.name, op.thread, {op.start, op.end});
        addCode({op.start, op.end});
        trace_.hasOps = true;
    }
}

void AdviceReading::addRecomputed(const Op& op)
{
    if (all_.recomputation.has(op.id))
        trace_.recomputed.push_back(
            {{op.start, op.end}, sources_.of({.kind = "module", .name = kinds_.placeOrNone(op.path)})});
}

void AdviceReading::add(const ApiCall& call)
{
    const analysis::Interval time{call.start, call.end};
    trace_.hasCalls = true;
    unrecorded_.addCall(call.kind, time);
    cover(call.start, call.end);
    addCode(time);
    if (call.kind == ApiKind::Launch || call.kind == ApiKind::Synchronize)
        firstErrand_ = std::min(firstErrand_, call.start);
    if (call.kind != ApiKind::Overhead && addStartCall(call))
        return;
    if (call.kind == ApiKind::Launch && call.correlation && time.length() >= kFirstLaunch)
        longLaunches_.emplace(call.correlation.value, LongLaunch{time, call.name});
    if (call.kind == ApiKind::Launch && call.correlation && launchesGraph(call.name))
        graphLaunches_.insert(call.correlation.value);
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

void AdviceReading::add(const DeviceEvent& event)
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
    if (event.graphNode != 0 || graphLaunches_.contains(event.correlation.value))
        trace_.replayed.push_back(number);
    trace_.activities.push_back({{event.start, event.end}, kind, event.device, event.stream});
    if (event.start > busyUntil_)
        trace_.host.next.push_back({{event.start, event.end}, kinds_.placeSourceOf(kind)});
    busyUntil_ = std::max(busyUntil_, event.end);
}

void AdviceReading::beginFrames()
{
    for (WaitingCall& wait : waits_)
        waitsByThread_[wait.thread].push_back(&wait);
    for (auto& [thread, list] : waitsByThread_)
        std::ranges::sort(list, {}, [](const WaitingCall* wait) { return wait->time.time.start; });
}

void AdviceReading::add(const Frame& frame)
{
    addLoading("frame", frame.name, frame.thread, frame.start, frame.end);
    if (trace_.onGpu)
        addLongStart("frame", frame.name, frame.thread, {frame.start, frame.end});
    const auto found = waitsByThread_.find(frame.thread);
    if (found == waitsByThread_.end())
        return;
    auto wait = std::ranges::lower_bound(found->second, frame.start, {},
                                         [](const WaitingCall* each) { return each->time.time.start; });
    if (wait == found->second.end() || (*wait)->time.time.start >= frame.end)
        return;
    const std::string_view name = textOf_(frame.name);
    const bool isLibrary = analysis::isLibraryFrame(name) || name.starts_with("nn.Module:");
    for (; wait != found->second.end() && (*wait)->time.time.start < frame.end; ++wait) {
        WaitingCall& call = **wait;
        const bool isBetter = call.isLibrary != isLibrary ? call.isLibrary : frame.start >= call.frameStart;
        if (call.frame && !isBetter)
            continue;
        call.frame = frame.name;
        call.frameStart = frame.start;
        call.isLibrary = isLibrary;
    }
}

void AdviceReading::add(const AllocEvent& event)
{
    if (!event.device || !filter_.hasDevice(event.device))
        return;
    trace_.hasReserved = trace_.hasReserved || event.reserved > 0;
    if (Bytes{event.allocated} > trace_.allocatedAtPeak) {
        trace_.allocatedAtPeak = Bytes{event.allocated};
        trace_.reservedAtPeak = Bytes{event.reserved};
    }
}

void AdviceReading::readDevices(const RunTopology& topology)
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
        if ((own.empty() || own.contains(device.id)) && (!device.name.empty() || !device.capability.empty()))
            add(device.id, device.name, device.capability, device.multiprocessors);
}

std::set<DeviceIndex> AdviceReading::ownDevices() const
{
    std::set<DeviceIndex> devices;
    if (filter_.process())
        for (const TracedStream& stream : filter_.topology().topology().streams)
            if (stream.process == filter_.process() && stream.device)
                devices.insert(stream.device);
    return devices;
}

void AdviceReading::addLoading(const char* kind, StringId name, ThreadId thread, Timestamp start,
                               Timestamp end)
{
    if (!dataNames_.loads(name) || (mainThread_ && thread != mainThread_))
        return;
    trace_.loading.push_back({{start, end}, sources_.of({.kind = kind, .name = std::string(textOf_(name))})});
}

void AdviceReading::addLongStart(const char* kind, StringId name, ThreadId thread,
                                 const analysis::Interval& time)
{
    if (time.length() >= kShortestStart && (!mainThread_ || thread == mainThread_))
        addStart(kind, name, false, time);
}

bool AdviceReading::addStartCall(const ApiCall& call)
{
    const analysis::Interval time{call.start, call.end};
    return time.length() >= kShortestStartCall && addStart("call", call.name, call.start < firstWork_, time);
}

bool AdviceReading::addStart(const char* kind, StringId name, bool isFirst, const analysis::Interval& time)
{
    const auto [known, isNew] = startCauses_.try_emplace({name, isFirst}, analysis::kNoStartCause);
    if (isNew && name)
        known->second = analysis::startCauseOf(textOf_(name), isFirst);
    if (!isStartUp(known->second))
        return false;
    trace_.host.starting.push_back({time, sources_.of({.kind = kind,
                                                       .name = std::string(textOf_(name)),
                                                       .note = std::string(nounOf(known->second))})});
    return true;
}

bool AdviceReading::launchesGraph(StringId call)
{
    const auto [known, isNew] = graphCalls_.try_emplace(call, false);
    if (isNew)
        known->second = textOf_(call).find("GraphLaunch") != std::string_view::npos;
    return known->second;
}

void AdviceReading::addCode(const analysis::Interval& time)
{
    std::vector<analysis::Interval>& code = trace_.inCode;
    if (!code.empty() && time.start >= code.back().start && time.start <= code.back().end)
        code.back().end = std::max(code.back().end, time.end);
    else
        code.push_back(time);
}

void AdviceReading::cover(Timestamp start, Timestamp end)
{
    whole_.start = std::min(whole_.start, start);
    whole_.end = std::max(whole_.end, end);
}

ThreadId AdviceReading::threadOf(const Range& step) const
{
    if (!all_.computedSteps.contains(step.thread))
        return step.thread;
    for (const analysis::RecordedStep& each : all_.steps(filter_.topology()))
        if (each.process == filter_.topology().of(step.thread))
            return each.thread;
    return {};
}

bool AdviceReading::isOwnTiming(const ApiCall& call)
{
    if (run_.coversRecording())
        return false;
    const StringId path = pathOf(call.range);
    return path && analysis::fromStepDown(textOf_(path)).starts_with("step") &&
           analysis::moduleOf(analysis::fromStepDown(textOf_(path))).empty();
}

void AdviceReading::addTiming()
{
    std::ranges::sort(trace_.host.next, {}, [](const GroupedTime& each) { return each.time.start; });
    for (const analysis::Interval& wait : timing_) {
        const auto next = std::ranges::lower_bound(trace_.host.next, wait.end, {},
                                                   [](const GroupedTime& each) { return each.time.start; });
        trace_.host.tracing.push_back(
            {wait.start, next == trace_.host.next.end() ? wait.end : next->time.start});
    }
}

void AdviceReading::addWait(const ApiCall& call)
{
    waits_.push_back({.time = {{call.start, call.end}, 0},
                      .name = call.name,
                      .path = pathOf(call.range),
                      .thread = call.thread});
}

void AdviceReading::addFirstLaunch(const DeviceEvent& event)
{
    const auto launch = longLaunches_.find(event.correlation.value);
    if (event.correlation && launch != longLaunches_.end())
        trace_.host.starting.push_back(
            {launch->second.time, sources_.of({.kind = "call",
                                               .name = std::string(textOf_(launch->second.name)),
                                               .note = "first launch of a kernel, which is loaded"})});
}

void AdviceReading::finish()
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

void AdviceReading::keepTypical()
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

std::optional<std::size_t> AdviceReading::stepAt(Timestamp time) const
{
    const std::vector<analysis::HostStep>& steps = walls_.steps();
    const auto after = std::ranges::upper_bound(
        steps, time, {}, [](const analysis::HostStep& step) { return step.range.start; });
    if (after == steps.begin() || (after - 1)->range.end <= time)
        return {};
    return static_cast<std::size_t>(after - steps.begin() - 1);
}

void AdviceReading::noteLaunch(std::optional<std::size_t> step, Timestamp time)
{
    trace_.hasLaunches = true;
    lastLaunch_ = std::max(lastLaunch_, time);
    if (step)
        lastLaunches_[*step] = std::max(lastLaunches_[*step], time);
}

void AdviceReading::noteActivity(const DeviceEvent& event)
{
    std::optional<std::size_t> step = walls_.addWork(event);
    if (event.launched == Timestamp{})
        return;
    firstErrand_ = std::min(firstErrand_, event.launched);
    if (step)
        firstLaunches_[*step] = std::min(firstLaunches_[*step], event.launched);
    if (step && event.launched >= walls_.steps()[*step].range.end)
        step.reset();
    noteLaunch(step, event.launched);
}

void AdviceReading::noteErrands()
{
    trace_.host.firstErrand = firstErrand_;
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

} // namespace tilescope::query
