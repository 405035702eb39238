// Arranges records, in any order, in lanes.

#include "core/analysis/time/step_walls.h"
#include "core/model/computed_steps.h"
#include "core/model/metric.h"
#include "core/query/timeline/counter_curves.h"
#include "core/query/timeline/gap_reasons.h"
#include "core/query/timeline/row_filling.h"
#include "core/query/timeline/timeline.h"
#include "core/query/timeline/timeline_names.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

namespace tilescope::query {

namespace {

struct HostLane {
    RowsBuilder rows;
    bool hasCalls = false;
};

struct StreamLane {
    RowsBuilder rows;
    std::size_t events = 0;
};

struct DeviceLanes {
    std::map<StreamId, StreamLane> streams;
    TrackBuilder busy;
    store::BusySpans spans;
};

Hue hueOf(store::BusyReason reason)
{
    switch (reason) {
    case store::BusyReason::Busy:
        return Hue::Busy;
    case store::BusyReason::Launching:
        return Hue::GapLaunching;
    case store::BusyReason::Unexplained:
        break;
    }
    return Hue::GapUnexplained;
}

struct Curves {
    std::vector<std::int64_t> times, allocated, reserved;
    StepCurve allocatedCurve, reservedCurve; // of finish()

    void finish()
    {
        sort();
        reservedCurve = StepCurve::ofChanges(times, reserved);
        allocatedCurve = StepCurve(std::move(times), std::move(allocated));
    }

    /// Sorts the points if some arrived late.
    void sort()
    {
        if (std::ranges::is_sorted(times))
            return;
        std::vector<std::size_t> order(times.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [this](std::size_t i) { return times[i]; });
        for (auto* values : {&allocated, &reserved, &times}) {
            std::vector<std::int64_t> sorted(order.size());
            std::ranges::transform(order, sorted.begin(), [values](std::size_t i) { return (*values)[i]; });
            *values = std::move(sorted);
        }
    }
};

} // namespace

/// A stored track that other threads unpack.
struct TimelineBuilder::Pieces {
    store::TrackInfo track;
    std::vector<std::shared_ptr<RowFilling>> fillings = {};
};

struct TimelineBuilder::State {
    struct Thread {
        std::string name;
        std::int64_t native = -1;
    };
    using StretchesOf = std::map<ProcessIndex, Stretches>;

    explicit State(TimelineNames resolved) : names(std::move(resolved)) {}

    TimelineNames names;
    Timeline timeline; // but for its names
    std::map<ThreadId, Thread> threads;
    TopologyIndex topology;
    std::map<ThreadId, RowsBuilder> ranges;
    std::map<ThreadId, RowsBuilder> frames;
    bool isSampled = false; ///< `frames` are of samples
    std::map<ThreadId, RowsBuilder> pauses;
    std::map<ThreadId, HostLane> hosts;
    std::map<DeviceIndex, DeviceLanes> devices;
    std::map<DeviceIndex, Curves> curves;
    std::vector<CounterTrack> counters;
    std::vector<Pieces> pieces;                                                    // of stored tracks
    StretchesOf waiting, tracing;                                                  // of the host, unordered
    analysis::StepWork work;                                                       // of events
    std::map<std::pair<ProcessIndex, std::int32_t>, analysis::Interval> stepTimes; // stored, by number

    std::int64_t at(Timestamp time) const { return (time - timeline.origin).count(); }

    void reach(std::int64_t end) { timeline.length = std::max(timeline.length, end); }

    void add(const store::LaneBox& event);
    void addStep(const store::Box& box, std::int64_t shift);
    /// The properties of the boxes of a track with this code, except the class of their hue.
    std::pair<NamedHue, store::CallDetail> kindOf(const store::TrackInfo& track, std::uint64_t code);
    TrackBuilder& rowOf(const store::TrackInfo& track);
    void finishLanes(Tasks& tasks);
    void addBusy(DeviceLanes& lanes, const store::Box& box, std::int64_t shift);
    std::string threadTitle(ThreadId thread) const;
    /// "rank 1 "; empty if the run has one process.
    std::string processTitle(ProcessIndex process) const;
    std::string streamTitle(DeviceIndex device, StreamId stream) const;
    void groupByProcess();
    void buildRangeLanes();
    void buildFrameLanes();
    void buildPauseLanes();
    void listProcesses();
    void assignSteps();
    void placeSteps();
    void buildHostLanes();
    void buildDeviceLanes();
    void buildMemoryLanes();
    void buildCounterLanes();
};

TimelineBuilder::TimelineBuilder(TextOf textOf, DeviceNameOf deviceNameOf, Timestamp origin)
    : state_(std::make_unique<State>(TimelineNames(std::move(textOf), std::move(deviceNameOf)))),
      tasks_(std::make_unique<Tasks>())
{
    state_->timeline.origin = origin;
}

TimelineBuilder::~TimelineBuilder() = default;
TimelineBuilder::TimelineBuilder(TimelineBuilder&&) noexcept = default;

void TimelineBuilder::nameThread(const ThreadName& thread, std::string_view name)
{
    state_->threads[thread.thread] = {std::string(name), thread.native};
}

void TimelineBuilder::startFrom(const Timeline& timeline)
{
    state_->timeline = timeline;
    state_->names.startFrom(std::move(state_->timeline.names));
}

void TimelineBuilder::setTopology(TopologyIndex topology)
{
    state_->topology = std::move(topology);
}

std::string TimelineBuilder::State::processTitle(ProcessIndex process) const
{
    const std::string title = topology.titleOf(process);
    return title.empty() ? title : title + " ";
}

std::string TimelineBuilder::State::streamTitle(DeviceIndex device, StreamId stream) const
{
    for (const TracedStream& each : topology.topology().streams)
        if (each.device == device && each.id == stream)
            return "stream " + std::to_string(each.native);
    return "stream " + std::to_string(stream.value);
}

// Processes by rank, then processes without a rank; lanes that several processes share come last.
void TimelineBuilder::State::groupByProcess()
{
    if (!topology.hasSeveral())
        return;
    const auto orderOf = [this](const Lane& lane) {
        const TracedProcess* const process = topology.find(lane.process);
        return process ? std::pair(process->rank.value_or(INT32_MAX - 1), process->id.value)
                       : std::pair(INT32_MAX, 0);
    };
    std::ranges::stable_sort(timeline.lanes, {}, orderOf);
}

void TimelineBuilder::State::addBusy(DeviceLanes& lanes, const store::Box& box, std::int64_t shift)
{
    const Hue hue = hueOf(store::BusyReason(box.code));
    lanes.busy.add(box.start + shift, box.start + box.length + shift, names.state(hue).name, hue);
}

void TimelineBuilder::State::addStep(const store::Box& box, std::int64_t shift)
{
    const std::int64_t start = box.start + shift;
    const std::int64_t end = start + box.length;
    timeline.steps.push_back(
        {.step = std::int32_t(box.code), .start = start, .end = end, .hostStart = start, .hostEnd = end});
    reach(end);
}

std::pair<NamedHue, store::CallDetail> TimelineBuilder::State::kindOf(const store::TrackInfo& track,
                                                                      std::uint64_t code)
{
    using store::BoxCode;
    using store::CallDetail;
    switch (track.kind) {
    case store::LaneKind::Range:
        return {names.range(BoxCode::text(code)), CallDetail::Call};
    case store::LaneKind::Thread:
        if (BoxCode::detail(code) == 0)
            return {names.op(BoxCode::text(code)), CallDetail::Call};
        return {names.call(BoxCode::text(code)), CallDetail(BoxCode::detail(code))};
    case store::LaneKind::Stream:
        return {names.device(BoxCode::text(code), DeviceEventKind(std::min(BoxCode::detail(code), 2U))),
                CallDetail::Call};
    case store::LaneKind::Busy:
        return {names.state(hueOf(store::BusyReason(code))), CallDetail::Call};
    case store::LaneKind::Step:
    case store::LaneKind::Memory:
        break;
    }
    return {};
}

void TimelineBuilder::State::add(const store::LaneBox& event)
{
    const store::TrackInfo& lane = event.lane;
    const store::Box& box = event.box;
    const std::int64_t end = event.end();
    if (lane.kind == store::LaneKind::Step)
        return addStep(box, 0);
    if (lane.kind == store::LaneKind::Busy) {
        addBusy(devices[lane.device], box, 0);
        return reach(end);
    }
    const auto [name, detail] = kindOf(lane, box.code);
    if (lane.kind == store::LaneKind::Range) {
        ranges[lane.thread].add(box.start, end, name.name, name.hue);
    } else if (lane.kind == store::LaneKind::Thread) {
        HostLane& host = hosts[lane.thread];
        host.hasCalls = host.hasCalls || store::BoxCode::detail(box.code) != 0;
        if (detail != store::CallDetail::Call)
            (detail == store::CallDetail::Waits ? waiting : tracing)[topology.of(lane.thread)].emplace_back(
                box.start, end);
        host.rows.add(box.start, end, name.name, name.hue);
    } else if (lane.kind == store::LaneKind::Stream) {
        StreamLane& stream = devices[lane.device].streams[lane.stream];
        ++stream.events;
        stream.rows.add(box.start, end, name.name, name.hue);
    }
    reach(end);
}

void TimelineBuilder::addRanges(std::span<const Range> ranges)
{
    for (const Range& range : ranges) {
        const std::int64_t start = state_->at(range.start);
        const std::int64_t end = state_->at(range.end);
        state_->add(store::LaneBox::range(range.thread, range.path, start, end));
        if (range.step != kNoStep && state_->names.textOf(range.path) == "step")
            state_->add(store::LaneBox::step(range.step, start, end));
    }
}

void TimelineBuilder::addFrames(std::span<const Frame> frames)
{
    for (const Frame& frame : frames) {
        const NamedHue name = state_->names.frame(frame.name);
        const std::int64_t start = state_->at(frame.start);
        const std::int64_t end = std::max(state_->at(frame.end), start);
        state_->frames[frame.thread].add(start, end, name.name, name.hue);
        state_->reach(end);
    }
}

void TimelineBuilder::addFrames(std::span<const SampledFrame> frames)
{
    for (const SampledFrame& frame : frames) {
        const NamedHue name = state_->names.frame(frame.function);
        const std::int64_t start = state_->at(frame.start);
        const std::int64_t end = std::max(state_->at(frame.end), start);
        state_->frames[frame.thread].add(start, end, name.name, name.hue);
        state_->reach(end);
        state_->isSampled = true;
    }
}

void TimelineBuilder::addPauses(std::span<const HostPause> pauses)
{
    for (const HostPause& pause : pauses) {
        const NamedHue name = state_->names.pause(pause.name, pause.hue);
        const std::int64_t start = state_->at(pause.start);
        const std::int64_t end = std::max(state_->at(pause.end), start);
        state_->pauses[pause.thread].add(start, end, name.name, name.hue);
        state_->reach(end);
    }
}

void TimelineBuilder::addHost(std::span<const Op> ops, std::span<const ApiCall> calls)
{
    const auto addCall = [this](const ApiCall& call) {
        state_->add(store::LaneBox::call(call.thread, call.name, call.kind, state_->at(call.start),
                                         state_->at(call.end)));
    };
    auto call = calls.begin();
    for (const Op& op : ops) {
        for (; call != calls.end() && call->start < op.start; ++call)
            addCall(*call);
        state_->add(store::LaneBox::op(op.thread, op.name, state_->at(op.start), state_->at(op.end)));
    }
    for (; call != calls.end(); ++call)
        addCall(*call);
}

void TimelineBuilder::addDevice(std::span<const DeviceEvent> events)
{
    for (const DeviceEvent& event : events) {
        const store::LaneBox box =
            store::LaneBox::onStream(event.device, event.stream, event.kind, event.name,
                                     state_->at(event.start), state_->at(event.end));
        state_->add(box);
        if (event.step != kNoStep)
            state_->work.add(event);
        const bool launchKnown = event.launched != Timestamp{};
        state_->devices[event.device].spans.add(
            box.box.start, box.end(), launchKnown ? state_->at(event.launched) : store::BusySpans::kUnknown,
            [&](std::int64_t from, std::int64_t to, store::BusyReason reason) {
                state_->add(store::LaneBox::busy(event.device, reason, from, to));
            });
    }
}

void TimelineBuilder::addAllocations(std::span<const AllocEvent> events)
{
    for (const AllocEvent& event : events) {
        Curves& curves = state_->curves[event.device];
        curves.times.push_back(state_->at(event.time));
        curves.allocated.push_back(event.allocated);
        curves.reserved.push_back(event.reserved);
        state_->reach(curves.times.back());
    }
}

void TimelineBuilder::addCounter(const CounterTrack& track)
{
    state_->counters.push_back(track);
}

void TimelineBuilder::addPoints(const store::TrackInfo& track, std::span<const store::MemoryPoint> points,
                                Timestamp zero)
{
    constexpr std::int64_t kMost = 1 << 22; // limits what a file can claim
    const std::int64_t shift = state_->at(zero);
    Curves& curves = state_->curves[track.device];
    for (auto* values : {&curves.times, &curves.allocated, &curves.reserved})
        values->reserve(std::size_t(std::clamp<std::int64_t>(track.events, 0, kMost)));
    for (const store::MemoryPoint& point : points) {
        curves.times.push_back(point.time + shift);
        curves.allocated.push_back(point.allocated);
        curves.reserved.push_back(point.reserved);
    }
    if (!curves.times.empty())
        state_->reach(curves.times.back());
}

void TimelineBuilder::addStepTimes(std::span<const store::StepTotal> steps)
{
    for (const store::StepTotal& step : steps)
        state_->stepTimes.try_emplace({step.process, step.step}, analysis::Interval{step.start, step.end});
}

// The row of a stored track, in its lane.
TrackBuilder& TimelineBuilder::State::rowOf(const store::TrackInfo& track)
{
    switch (track.kind) {
    case store::LaneKind::Range:
        return ranges[track.thread].row(track.row);
    case store::LaneKind::Thread:
        return hosts[track.thread].rows.row(track.row);
    case store::LaneKind::Stream:
        return devices[track.device].streams[track.stream].rows.row(track.row);
    default:
        return devices[track.device].busy;
    }
}

void TimelineBuilder::addTrack(const store::TrackInfo& track, std::vector<store::PackedBoxes> pieces,
                               Timestamp zero)
{
    const std::int64_t shift = state_->at(zero);
    if (track.kind == store::LaneKind::Step) {
        for (const store::PackedBoxes& piece : pieces)
            piece.each([&](std::int64_t start, std::int64_t length, std::size_t place) {
                state_->addStep({start, length, piece.codes()[place]}, shift);
            });
        return;
    }
    std::size_t events = 0;
    for (const store::PackedBoxes& piece : pieces)
        events += piece.size();
    TrackBuilder& row = state_->rowOf(track);
    if (row.size() > 0)
        store::throwDamagedPacking(); // two tracks of one row
    row.resize(events);
    if (track.kind == store::LaneKind::Stream)
        state_->devices[track.device].streams[track.stream].events += events;
    Pieces added{.track = track};
    std::size_t first = 0;
    for (store::PackedBoxes& piece : pieces) {
        std::vector<RowFilling::Kind> kinds;
        for (const std::uint64_t code : piece.codes()) {
            const auto [name, detail] = state_->kindOf(track, code);
            kinds.push_back({name.name, row.classOf(name.hue), detail});
            if (track.kind == store::LaneKind::Thread && store::BoxCode::detail(code) != 0)
                state_->hosts[track.thread].hasCalls = true;
        }
        const std::size_t size = piece.size();
        added.fillings.push_back(
            std::make_shared<RowFilling>(std::move(piece), std::move(kinds), row.part(first), shift));
        tasks_->add([filling = added.fillings.back()] { filling->run(); });
        first += size;
    }
    state_->pieces.push_back(std::move(added));
}

std::string TimelineBuilder::State::threadTitle(ThreadId thread) const
{
    // The tracer's own activity without a thread: buffer flushes, waits that cannot be assigned.
    if (!thread)
        return "no thread";
    const auto known = threads.find(thread);
    if (known == threads.end())
        return "thread " + std::to_string(thread.value);
    const Thread& chosen = known->second;
    const std::string process = processTitle(topology.of(thread));
    if (chosen.name == kComputedSteps)
        return process + chosen.name;
    const std::string number = std::to_string(chosen.native >= 0 ? chosen.native : thread.value);
    const bool isNamed = !chosen.name.empty() && !process.starts_with(chosen.name + " ");
    return process + (isNamed ? chosen.name : "thread") + " " + number;
}

void TimelineBuilder::State::buildRangeLanes()
{
    for (auto& [thread, rows] : ranges) {
        Lane lane;
        lane.kind = Lane::Kind::Ranges;
        lane.thread = thread;
        lane.process = topology.of(thread);
        lane.title = processTitle(lane.process) + (lane.process ? "ranges" : "Ranges");
        if (ranges.size() > 1)
            lane.detail = threadTitle(thread);
        lane.rows = std::move(rows).build();
        const auto name = threads.find(thread);
        const bool isFirst = name != threads.end() && name->second.name == kComputedSteps;
        timeline.lanes.insert(isFirst ? timeline.lanes.begin() : timeline.lanes.end(), std::move(lane));
    }
}

void TimelineBuilder::State::listProcesses()
{
    timeline.processes.clear();
    if (!topology.hasSeveral())
        return;
    std::vector<const TracedProcess*> byRank;
    for (const TracedProcess& process : topology.topology().processes)
        byRank.push_back(&process);
    std::ranges::stable_sort(byRank, {}, [](const TracedProcess* process) {
        return process->rank.value_or(std::numeric_limits<std::int32_t>::max());
    });
    for (const TracedProcess* process : byRank)
        timeline.processes.emplace_back(process->id, topology.titleOf(process->id));
}

// A prepared track of steps does not say whose they are: the ranges do.
void TimelineBuilder::State::assignSteps()
{
    if (!topology.hasSeveral())
        return;
    for (TimelineStep& step : timeline.steps)
        for (const Lane& lane : timeline.lanes) {
            if (step.process || lane.kind != Lane::Kind::Ranges || lane.rows.empty())
                continue;
            for (const Track& row : lane.rows) {
                const std::size_t i = row.firstFrom(step.hostStart);
                if (i < row.size() && row.start(i) == step.hostStart && row.end(i) == step.hostEnd &&
                    names.text(row.name(i)) == "step")
                    step.process = lane.process;
            }
        }
}

// The times of the steps on host and device: stored, or from the events.
void TimelineBuilder::State::placeSteps()
{
    if (stepTimes.empty() && !work.totals().empty()) {
        std::map<ProcessIndex, std::vector<analysis::HostStep>> onHost;
        for (const TimelineStep& step : timeline.steps)
            onHost[step.process].push_back({step.step,
                                            {timeline.origin + Nanoseconds(step.hostStart),
                                             timeline.origin + Nanoseconds(step.hostEnd)}});
        std::map<ProcessIndex, std::vector<analysis::StepWork::Total>> totals;
        for (const analysis::StepWork::Total& total : work.totals())
            totals[topology.of(total.device, total.stream)].push_back(total);
        for (const auto& [process, steps] : onHost) {
            const std::vector<analysis::Interval> walls = analysis::stepWalls(steps, totals[process]);
            for (std::size_t i = 0; i < steps.size(); ++i)
                stepTimes.try_emplace({process, steps[i].number}, walls[i]);
        }
    }
    for (TimelineStep& step : timeline.steps)
        if (const auto time = stepTimes.find({step.process, step.step}); time != stepTimes.end()) {
            step.start = at(time->second.start);
            step.end = at(time->second.end);
        }
}

// The stacks of a thread lie below its ranges; those of a thread without ranges above the other lanes of its
// process.
void TimelineBuilder::State::buildFrameLanes()
{
    for (auto& [thread, rows] : frames) {
        Lane lane;
        lane.kind = Lane::Kind::Frames;
        lane.thread = thread;
        lane.process = topology.of(thread);
        lane.title = processTitle(lane.process) + "Python";
        lane.detail = frames.size() > 1 ? threadTitle(thread) : isSampled ? "samples" : "call stacks";
        lane.rows = std::move(rows).build();
        const auto isAbove = [&lane](const Lane& other) {
            return other.kind == Lane::Kind::Ranges && other.thread == lane.thread;
        };
        const auto isBelow = [&lane](const Lane& other) {
            return other.process == lane.process && other.kind != Lane::Kind::Ranges &&
                   other.kind != Lane::Kind::Frames;
        };
        auto place = std::ranges::find_if(timeline.lanes, isAbove);
        place = place != timeline.lanes.end() ? place + 1 : std::ranges::find_if(timeline.lanes, isBelow);
        timeline.lanes.insert(place, std::move(lane));
    }
}

// Below the stacks of their thread.
void TimelineBuilder::State::buildPauseLanes()
{
    for (auto& [thread, rows] : pauses) {
        Lane lane;
        lane.kind = Lane::Kind::Frames;
        lane.isOfPauses = true;
        lane.thread = thread;
        lane.process = topology.of(thread);
        lane.title = processTitle(lane.process) + (lane.process ? "pauses" : "Pauses");
        lane.detail = pauses.size() > 1 ? threadTitle(thread) : "by samples";
        lane.rows = std::move(rows).build();
        const auto isAbove = [&lane](const Lane& other) {
            return other.kind == Lane::Kind::Frames && other.thread == lane.thread;
        };
        const auto place = std::ranges::find_if(timeline.lanes, isAbove);
        timeline.lanes.insert(place == timeline.lanes.end() ? place : place + 1, std::move(lane));
    }
}

void TimelineBuilder::State::buildHostLanes()
{
    for (auto& [thread, host] : hosts) {
        // Ops without a thread belong to an imported memory snapshot: names of stacks, without duration.
        if (!thread && !host.hasCalls)
            continue;
        Lane lane;
        lane.kind = Lane::Kind::Thread;
        lane.thread = thread;
        lane.process = topology.of(thread);
        lane.title = threadTitle(thread);
        lane.detail = host.hasCalls ? "ops, API calls" : "ops";
        lane.rows = std::move(host.rows).build();
        timeline.lanes.push_back(std::move(lane));
    }
}

void TimelineBuilder::State::buildDeviceLanes()
{
    for (auto& [device, lanes] : devices) {
        const ProcessIndex process = topology.of(device);
        const std::string gpu = "GPU " + std::to_string(device.value) + " ";
        const std::string prefix = process ? processTitle(process) : devices.size() > 1 ? gpu : "";
        for (auto& [stream, own] : lanes.streams) {
            Lane lane;
            lane.kind = Lane::Kind::Stream;
            lane.device = device;
            lane.stream = stream;
            lane.process = topology.of(device, stream);
            lane.title = (lane.process ? processTitle(lane.process) : prefix) + streamTitle(device, stream);
            lane.detail = (lane.process ? gpu + "· " : "") + std::to_string(own.events) +
                          (own.events == 1 ? " event" : " events");
            lane.rows = std::move(own.rows).build();
            timeline.lanes.push_back(std::move(lane));
        }
        lanes.spans.finish([&, &lanes = lanes](std::int64_t from, std::int64_t to, store::BusyReason reason) {
            addBusy(lanes, {from, to - from, std::uint64_t(reason)}, 0);
        });
        Lane busy;
        busy.kind = Lane::Kind::Busy;
        busy.title = prefix + (prefix.empty() ? "GPU busy" : "busy");
        busy.device = device;
        busy.process = process;
        busy.rows.push_back(
            withReasons(std::move(lanes.busy).build(), tracing[process], waiting[process], names));
        timeline.lanes.push_back(std::move(busy));
    }
}

void TimelineBuilder::State::buildMemoryLanes()
{
    for (auto& [device, curve] : curves) {
        Lane lane;
        lane.kind = Lane::Kind::Memory;
        lane.device = device;
        lane.process = topology.of(device);
        lane.title = processTitle(lane.process) + (lane.process ? "memory" : "Memory");
        const bool isShared = topology.hasSeveral() && !lane.process;
        if (curves.size() > 1 || isShared)
            lane.detail = (device ? "GPU " + std::to_string(device.value) : "host") +
                          std::string(isShared ? ", whole run" : "");
        lane.reserved = std::move(curve.reservedCurve);
        lane.allocated = std::move(curve.allocatedCurve);
        timeline.lanes.push_back(std::move(lane));
    }
}

// Metrics of devices come first, then counters, then those of the host. What lies before the first event is not shown.
void TimelineBuilder::State::buildCounterLanes()
{
    std::vector<CounterCurve> counted = curvesOf(counters);
    std::ranges::stable_sort(counted, {}, [](const CounterCurve& curve) {
        const CounterTrack& track = *curve.about;
        return std::pair(track.device ? std::int32_t{track.device.value}
                                      : std::numeric_limits<std::int32_t>::max(),
                         !isMetric(track.name));
    });
    for (const CounterCurve& curve : counted) {
        if (at(curve.end) < 0)
            continue;
        const CounterTrack& track = *curve.about;
        Lane lane;
        lane.kind = Lane::Kind::Counter;
        lane.device = track.device;
        lane.process = track.process ? track.process : topology.of(track.device);
        lane.title = processTitle(lane.process) + track.name;
        lane.detail = track.device ? "GPU " + std::to_string(track.device.value) : "host";
        if (isMetric(track.name))
            lane.detail += ", mean " + meanText(curve);
        lane.counter = track.name;
        lane.unit = track.unit;
        lane.valuesEnd = at(curve.end);
        std::vector<std::int64_t> times, values;
        for (const CounterTrack* const part : curve.parts)
            for (const CounterPoint& point : part->points) {
                times.push_back(at(point.time));
                values.push_back(point.value);
            }
        for (const auto& [from, to] : curve.holes)
            lane.holes.emplace_back(at(from), at(to));
        lane.values = StepCurve::ofChanges(times, values);
        timeline.lanes.push_back(std::move(lane));
    }
}

// Ends the unpacking of stored tracks, and computes their indexes and the curves on all processors.
void TimelineBuilder::State::finishLanes(Tasks& tasks)
{
    tasks.finish();
    for (const Pieces& each : pieces) {
        TrackBuilder& row = rowOf(each.track);
        const ProcessIndex process = topology.of(each.track.thread);
        for (const auto& filling : each.fillings) {
            row.complete(filling->part());
            for (auto [from, to] :
                 {std::pair(&filling->waiting(), &waiting), std::pair(&filling->tracing(), &tracing)})
                if (!from->empty())
                    (*to)[process].insert((*to)[process].end(), from->begin(), from->end());
        }
        if (row.size() > 0)
            reach(row.track().end(row.size() - 1));
        tasks.add([&row] { row.finish(); });
    }
    pieces.clear();
    for (auto& [device, curve] : curves)
        tasks.add([&made = curve] { made.finish(); });
    tasks.finish();
}

TimelineBuilder::TimelineBuilder(std::unique_ptr<State> state)
    : state_(std::move(state)), tasks_(std::make_unique<Tasks>())
{
}

Timeline TimelineBuilder::snapshot()
{
    // Settle here, so that copies need not repeat it.
    for (auto* lanes : {&state_->ranges, &state_->frames, &state_->pauses})
        for (auto& [thread, rows] : *lanes)
            rows.settle();
    for (auto& [thread, host] : state_->hosts)
        host.rows.settle();
    for (auto& [device, lanes] : state_->devices)
        for (auto& [stream, lane] : lanes.streams)
            lane.rows.settle();
    return TimelineBuilder(std::make_unique<State>(*state_)).build();
}

Timeline TimelineBuilder::build() &&
{
    state_->finishLanes(*tasks_);
    std::ranges::sort(state_->timeline.steps, {}, &TimelineStep::hostStart);
    state_->listProcesses();
    state_->buildRangeLanes();
    state_->assignSteps();
    state_->placeSteps();
    state_->buildHostLanes();
    state_->buildDeviceLanes();
    state_->buildMemoryLanes();
    state_->buildCounterLanes();
    state_->groupByProcess();
    state_->buildFrameLanes();
    state_->buildPauseLanes();
    state_->timeline.names = std::move(state_->names).take();
    return std::move(state_->timeline);
}

} // namespace tilescope::query
