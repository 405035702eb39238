#include "core/query/timeline.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tilescope::query {

std::size_t Lane::events() const
{
    std::size_t total = allocated.size();
    for (const Track& row : rows)
        total += row.size();
    return total;
}

std::pair<std::int64_t, std::int64_t> Timeline::interesting() const
{
    if (steps.empty())
        return {0, std::max<std::int64_t>(length, 1)};
    // The device may finish a step's kernels a little after the host closed its range.
    const std::int64_t from = steps.front().start;
    const std::int64_t to = steps.back().end;
    const std::int64_t margin = std::max<std::int64_t>((to - from) / 50, 1);
    return {std::max<std::int64_t>(from - margin, 0),
            std::min(to + margin, std::max<std::int64_t>(length, 1))};
}

std::optional<std::size_t> Timeline::hit(const Track& row, std::int64_t time, std::int64_t slack) const
{
    const auto [first, last] = row.overlapping(time, time + 1);
    if (first < last)
        return last - 1;
    std::optional<std::size_t> nearest;
    std::int64_t distance = slack + 1;
    if (first > 0 && time - row.end(first - 1) < distance) {
        nearest = first - 1;
        distance = time - row.end(first - 1);
    }
    if (first < row.size() && row.start(first) - time < distance)
        nearest = first;
    return nearest;
}

std::size_t Timeline::memory() const
{
    std::size_t total = 0;
    for (const Lane& lane : lanes) {
        for (const Track& row : lane.rows)
            total += row.memory();
        total += (lane.allocated.size() + lane.reserved.size()) * 2 * sizeof(std::int64_t);
    }
    return total;
}

namespace {

struct NamedHue {
    std::uint32_t name = 0;
    Hue hue = Hue::Other;
};

struct HostLane {
    RowsBuilder rows;
    std::size_t events = 0;
    bool hasCalls = false;
};

struct StreamLane {
    RowsBuilder rows;
    std::size_t events = 0;
};

struct DeviceLanes {
    std::map<StreamId, StreamLane> streams;
    TrackBuilder busy;
    std::int64_t coveredUntil = INT64_MIN;
    std::int64_t busyFrom = 0;
};

struct Curves {
    std::vector<std::int64_t> times, allocated, reserved;
};

// "aten::mm" is mm in a box; "autograd::engine::evaluate_function: X" is X.
std::string labelOfOp(std::string_view name)
{
    constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
    if (name.starts_with(kEvaluate))
        name.remove_prefix(kEvaluate.size());
    if (name.starts_with("aten::"))
        name.remove_prefix(6);
    return std::string(name);
}

std::string lastComponent(std::string_view path)
{
    return std::string(path.substr(path.rfind('/') + 1));
}

} // namespace

struct TimelineBuilder::State {
    TextOf textOf;
    DeviceNameOf deviceNameOf;
    Timeline timeline;
    std::map<ThreadId, std::string> threadNames;
    std::map<ThreadId, RowsBuilder> ranges;
    std::map<ThreadId, HostLane> hosts;
    std::map<DeviceIndex, DeviceLanes> devices;
    std::map<DeviceIndex, Curves> curves;
    std::unordered_map<StringId, NamedHue> rangeNames, opNames, callNames, deviceNames;
    std::array<NamedHue, kHueCount> gapNames{};
    std::array<bool, kHueCount> gapNamed{};

    std::int64_t at(Timestamp time) const { return (time - timeline.origin).count(); }

    template <class Make> NamedHue named(std::unordered_map<StringId, NamedHue>& map, StringId id, Make make)
    {
        const auto [entry, isNew] = map.try_emplace(id);
        if (isNew) {
            auto [name, hue] = make(textOf(id));
            entry->second = {std::uint32_t(timeline.names.size()), hue};
            timeline.names.push_back(std::move(name));
        }
        return entry->second;
    }

    std::uint32_t gapName(Hue hue)
    {
        if (!gapNamed[std::size_t(hue)]) {
            gapNamed[std::size_t(hue)] = true;
            gapNames[std::size_t(hue)].name = std::uint32_t(timeline.names.size());
            timeline.names.push_back({std::string(hueWord(hue)), std::string(hueWord(hue))});
        }
        return gapNames[std::size_t(hue)].name;
    }

    void reach(std::int64_t end) { timeline.length = std::max(timeline.length, end); }

    void addBusy(DeviceLanes& lanes, const DeviceEvent& event);
    void closeBusy(DeviceLanes& lanes);
    std::string threadTitle(ThreadId thread) const;
    void buildRangeLanes();
    void buildHostLanes();
    void buildDeviceLanes();
    void buildMemoryLanes();
};

TimelineBuilder::TimelineBuilder(TextOf textOf, DeviceNameOf deviceNameOf, Timestamp origin)
    : state_(std::make_unique<State>())
{
    state_->textOf = std::move(textOf);
    state_->deviceNameOf = std::move(deviceNameOf);
    state_->timeline.origin = origin;
}

TimelineBuilder::~TimelineBuilder() = default;

void TimelineBuilder::nameThread(ThreadId thread, std::string_view name)
{
    state_->threadNames[thread] = name;
}

void TimelineBuilder::addRanges(std::span<const Range> ranges)
{
    for (const Range& range : ranges) {
        const NamedHue name = state_->named(state_->rangeNames, range.path, [&](std::string_view path) {
            return std::pair(TimelineName{std::string(path), lastComponent(path)}, hueOfRange(path));
        });
        const std::int64_t start = state_->at(range.start);
        const std::int64_t end = std::max(start, state_->at(range.end));
        state_->ranges[range.thread].add(start, end, name.name, name.hue);
        state_->reach(end);
        if (range.step != kNoStep && state_->textOf(range.path) == "step")
            state_->timeline.steps.push_back({range.step, start, end});
    }
}

void TimelineBuilder::addHost(std::span<const Op> ops, std::span<const ApiCall> calls)
{
    const auto addOp = [this](const Op& op) {
        const NamedHue name = state_->named(state_->opNames, op.name, [](std::string_view text) {
            return std::pair(TimelineName{std::string(text), labelOfOp(text)}, hueOfOp(text));
        });
        HostLane& lane = state_->hosts[op.thread];
        const std::int64_t start = state_->at(op.start);
        const std::int64_t end = std::max(start, state_->at(op.end));
        lane.rows.add(start, end, name.name, name.hue);
        ++lane.events;
        state_->reach(end);
    };
    const auto addCall = [this](const ApiCall& call) {
        const NamedHue name = state_->named(state_->callNames, call.name, [](std::string_view text) {
            return std::pair(TimelineName{std::string(text), std::string(text)}, Hue::Api);
        });
        HostLane& lane = state_->hosts[call.thread];
        const std::int64_t start = state_->at(call.start);
        const std::int64_t end = std::max(start, state_->at(call.end));
        lane.rows.add(start, end, name.name, name.hue);
        ++lane.events;
        lane.hasCalls = true;
        state_->reach(end);
    };
    auto call = calls.begin();
    for (const Op& op : ops) {
        for (; call != calls.end() && call->start < op.start; ++call)
            addCall(*call);
        addOp(op);
    }
    for (; call != calls.end(); ++call)
        addCall(*call);
}

// The device's own lane: stretches in which anything ran, and the gaps between them by reason. A gap is the
// host's where the kernel that ended it was launched only after the device had fallen idle; else nothing here
// explains it.
void TimelineBuilder::State::addBusy(DeviceLanes& lanes, const DeviceEvent& event)
{
    const std::int64_t start = at(event.start);
    const std::int64_t end = std::max(start, at(event.end));
    if (lanes.coveredUntil == INT64_MIN) {
        lanes.busyFrom = start;
    } else if (start > lanes.coveredUntil) {
        closeBusy(lanes);
        const bool launchKnown = event.launched != Timestamp{};
        const bool hostLate = launchKnown && at(event.launched) >= lanes.coveredUntil;
        const Hue reason = hostLate ? Hue::GapLaunching : Hue::GapUnexplained;
        lanes.busy.add(lanes.coveredUntil, start, gapName(reason), reason);
        lanes.busyFrom = start;
    }
    lanes.coveredUntil = std::max(lanes.coveredUntil, end);
}

void TimelineBuilder::State::closeBusy(DeviceLanes& lanes)
{
    lanes.busy.add(lanes.busyFrom, lanes.coveredUntil, gapName(Hue::Busy), Hue::Busy);
}

void TimelineBuilder::addDevice(std::span<const DeviceEvent> events)
{
    for (const DeviceEvent& event : events) {
        const NamedHue name = state_->named(state_->deviceNames, event.name, [&](std::string_view text) {
            DeviceName told = state_->deviceNameOf(text, event.kind);
            return std::pair(TimelineName{std::string(text), std::move(told.label)}, told.hue);
        });
        DeviceLanes& lanes = state_->devices[event.device];
        StreamLane& stream = lanes.streams[event.stream];
        const std::int64_t start = state_->at(event.start);
        const std::int64_t end = std::max(start, state_->at(event.end));
        stream.rows.add(start, end, name.name, name.hue);
        ++stream.events;
        state_->addBusy(lanes, event);
        state_->reach(end);
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

std::string TimelineBuilder::State::threadTitle(ThreadId thread) const
{
    const auto named = threadNames.find(thread);
    const std::string number = std::to_string(thread.value);
    return named == threadNames.end() ? "thread " + number : named->second + " " + number;
}

void TimelineBuilder::State::buildRangeLanes()
{
    for (auto& [thread, rows] : ranges) {
        Lane lane;
        lane.kind = Lane::Kind::Ranges;
        lane.thread = thread;
        lane.title = "Ranges";
        if (ranges.size() > 1)
            lane.detail = threadTitle(thread);
        lane.rows = std::move(rows).build();
        timeline.lanes.push_back(std::move(lane));
    }
}

void TimelineBuilder::State::buildHostLanes()
{
    for (auto& [thread, host] : hosts) {
        Lane lane;
        lane.kind = Lane::Kind::Thread;
        lane.thread = thread;
        lane.title = threadTitle(thread);
        lane.detail = host.hasCalls ? "ops, API calls" : "ops";
        lane.rows = std::move(host.rows).build();
        timeline.lanes.push_back(std::move(lane));
    }
}

void TimelineBuilder::State::buildDeviceLanes()
{
    for (auto& [device, lanes] : devices) {
        const std::string prefix = devices.size() > 1 ? "GPU " + std::to_string(device.value) + " " : "";
        for (auto& [stream, built] : lanes.streams) {
            Lane lane;
            lane.kind = Lane::Kind::Stream;
            lane.device = device;
            lane.stream = stream;
            lane.title = prefix + "stream " + std::to_string(stream.value);
            lane.detail = std::to_string(built.events) + (built.events == 1 ? " event" : " events");
            lane.rows = std::move(built.rows).build();
            timeline.lanes.push_back(std::move(lane));
        }
        closeBusy(lanes);
        Lane busy;
        busy.kind = Lane::Kind::Busy;
        busy.title = prefix + (prefix.empty() ? "GPU busy" : "busy");
        busy.device = device;
        busy.rows.push_back(std::move(lanes.busy).build());
        timeline.lanes.push_back(std::move(busy));
    }
}

void TimelineBuilder::State::buildMemoryLanes()
{
    for (auto& [device, curve] : curves) {
        Lane lane;
        lane.kind = Lane::Kind::Memory;
        lane.device = device;
        lane.title = "Memory";
        if (curves.size() > 1)
            lane.detail = device ? "GPU " + std::to_string(device.value) : "host";
        lane.allocated = StepCurve(curve.times, std::move(curve.allocated));
        lane.reserved = StepCurve(std::move(curve.times), std::move(curve.reserved));
        timeline.lanes.push_back(std::move(lane));
    }
}

Timeline TimelineBuilder::build() &&
{
    state_->buildRangeLanes();
    state_->buildHostLanes();
    state_->buildDeviceLanes();
    state_->buildMemoryLanes();
    return std::move(state_->timeline);
}

} // namespace tilescope::query
