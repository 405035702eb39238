#include "core/query/memory/memory_reading.h"

#include "core/query/runs/host_memory.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// The curves of a memory track; empty if it has no points.
std::pair<StepCurve, StepCurve> curvesOf(const store::RunReader& reader, RunId run,
                                         const store::TrackInfo& track, std::int64_t shift)
{
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> allocated;
    std::vector<std::int64_t> reserved;
    reader.eachPoints(run, track, [&](std::span<const store::MemoryPoint> points) {
        for (const store::MemoryPoint& point : points) {
            times.push_back(point.time + shift);
            allocated.push_back(point.allocated);
            reserved.push_back(point.reserved);
        }
        return true;
    });
    if (times.empty())
        return {};
    StepCurve held = StepCurve::ofChanges(times, reserved);
    return {StepCurve(std::move(times), std::move(allocated)), std::move(held)};
}

} // namespace

std::shared_ptr<const MemoryHistory> memoryOutline(const store::RunReader& reader, RunId run,
                                                   const ProcessQuery& topology)
{
    auto outline = std::make_shared<MemoryHistory>();
    outline->run = chooseRun(reader, run);
    const auto span = reader.span(outline->run.run);
    if (!span)
        return nullptr;
    outline->origin = span->first;
    const std::int64_t shift = (outline->run.clockOrigin - outline->origin).count();
    const ProcessFilter filter(reader, outline->run.run, topology);
    std::int64_t highest = -1;
    for (const store::TrackInfo& track : reader.tracks(outline->run.run)) {
        if (track.kind != store::LaneKind::Memory)
            continue;
        if (track.device)
            outline->gpus.push_back(track.device);
        if (!filter.hasDevice(track.device))
            continue;
        auto [allocated, reserved] = curvesOf(reader, outline->run.run, track, shift);
        if (allocated.empty() || allocated.value(allocated.peak()) <= highest)
            continue;
        highest = allocated.value(allocated.peak());
        outline->device = track.device;
        outline->peakTime = allocated.time(allocated.peak());
        outline->length = allocated.time(allocated.size() - 1);
        outline->allocated = std::move(allocated);
        outline->reserved = std::move(reserved);
    }
    std::ranges::sort(outline->gpus);
    return outline->empty() ? nullptr : outline;
}

std::vector<TimelineStep> tracedSteps(const store::RunReader& reader, RunId run, Timestamp origin,
                                      DeviceIndex device)
{
    const store::RunRecord record = chooseRun(reader, run);
    std::vector<TimelineStep> steps;
    const std::vector<store::TrackInfo> tracks = reader.tracks(record.run);
    const std::int64_t shift = (record.clockOrigin - origin).count();
    const TopologyIndex topology(device ? reader.topology(record.run) : topologyWithHost(reader, record.run),
                                 reader.threads(record.run));
    const ProcessIndex process = topology.of(device);
    const auto add = [&](std::int32_t step, std::int64_t start, std::int64_t end) {
        steps.push_back({step, start, end, process, start, end});
    };
    // The track of steps does not say whose they are: the ranges do.
    std::set<std::pair<std::int64_t, std::int64_t>> own;
    for (const store::TrackInfo& track : tracks) {
        const bool isOwn =
            process && track.kind == store::LaneKind::Range && topology.of(track.thread) == process;
        if (track.kind != store::LaneKind::Step && !isOwn)
            continue;
        reader.eachBoxes(record.run, track, [&](std::span<const store::Box> boxes) {
            for (const store::Box& box : boxes) {
                const std::int64_t start = box.start + shift;
                if (!isOwn)
                    add(static_cast<std::int32_t>(box.code), start, start + box.length);
                else if (reader.text(store::BoxCode::text(box.code)) == "step")
                    own.emplace(start, start + box.length);
            }
            return true;
        });
    }
    if (process)
        std::erase_if(steps, [&](const TimelineStep& step) { return !own.contains({step.start, step.end}); });
    if (tracks.empty())
        reader.eachRange({.run = record.run}, [&](const Range& range) {
            const bool isOwn = !process || topology.of(range.thread) == process;
            if (isOwn && range.step != kNoStep && reader.text(range.path) == "step")
                add(range.step, (range.start - origin).count(), (range.end - origin).count());
            return true;
        });
    std::ranges::sort(steps, {}, &TimelineStep::start);
    return steps;
}

std::optional<OutsideAllocator> outsideOf(std::span<const MemoryReading> readings, DeviceIndex device)
{
    std::optional<OutsideAllocator> outside;
    for (const MemoryReading& reading : readings) {
        const auto used = reading.process ? reading.process : reading.deviceUsed;
        if (!used || !reading.device || reading.device != device)
            continue;
        const Bytes beyond{*used - reading.reserved};
        if (!outside)
            outside.emplace();
        outside->most = std::max(outside->most, beyond);
        outside->ofAllProcesses = outside->ofAllProcesses || !reading.process;
        if (reading.moment == "before set-up")
            outside->beforeSetUp = beyond;
    }
    return outside;
}

std::string_view opOf(const MemoryHistory& history, const MemoryLife& block, const MemoryOps* ops)
{
    return block.op != 0 || ops == nullptr ? history.text(block.op) : ops->name(block.by);
}

std::string_view shapesOf(const MemoryHistory& history, const MemoryLife& block, const MemoryOps* ops)
{
    return block.shape != 0 || ops == nullptr ? history.text(block.shape) : ops->shapes(block.by);
}

std::shared_ptr<const MemoryOps> memoryOps(const store::RunReader& reader, const MemoryHistory& history,
                                           const std::function<bool()>& cancelled)
{
    auto made = std::make_shared<MemoryOps>();
    for (const MemoryLife& block : history.blocks)
        if (block.by)
            made->ops.push_back({.id = block.by});
    if (made->ops.empty())
        return made;
    std::ranges::sort(made->ops, {}, &MemoryOps::Op::id);
    const auto isSame = [](const MemoryOps::Op& a, const MemoryOps::Op& b) { return a.id == b.id; };
    made->ops.erase(std::unique(made->ops.begin(), made->ops.end(), isSame), made->ops.end());
    std::unordered_map<StringId, std::uint32_t> indices;
    const auto indexOf = [&](StringId id) -> std::uint32_t {
        if (!id)
            return 0;
        const auto [place, isNew] = indices.try_emplace(id, static_cast<std::uint32_t>(made->texts.size()));
        if (isNew)
            made->texts.emplace_back(reader.text(id));
        return place->second;
    };
    std::size_t count = 0;
    bool stopped = false;
    reader.eachOp({.run = history.run.run}, [&](const Op& op) {
        constexpr std::size_t kAskEvery = 1 << 16;
        stopped = ++count % kAskEvery == 0 && cancelled && cancelled();
        const auto found = std::ranges::lower_bound(made->ops, op.id, {}, &MemoryOps::Op::id);
        if (found != made->ops.end() && found->id == op.id)
            *found = {op.id, indexOf(op.name), indexOf(op.shapes)};
        return !stopped;
    });
    return stopped ? nullptr : made;
}

} // namespace tilescope::query
