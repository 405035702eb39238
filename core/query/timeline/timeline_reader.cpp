#include "core/query/timeline/timeline_reader.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/model/text.h"
#include "core/query/runs/host_memory.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/timeline/host_pauses.h"
#include "core/query/timeline/sampled_frames.h"
#include "core/store/host_sample_reader.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <memory>

namespace tilescope::query {

namespace {

using store::RunReader;

void addCounters(const RunReader& reader, RunId run, TimelineBuilder& builder)
{
    for (const CounterTrack& track : reader.counterTracks(run))
        builder.addCounter(track);
}

bool addTracks(const RunReader& reader, RunId run, const std::vector<store::TrackInfo>& tracks,
               TimelineBuilder& builder, const std::function<bool()>& cancelled)
{
    const Timestamp zero = reader.run(run)->clockOrigin;
    for (const store::TrackInfo& track : tracks) {
        if (cancelled())
            return false;
        if (track.kind == store::LaneKind::Memory)
            reader.eachPoints(run, track, [&](std::span<const store::MemoryPoint> points) {
                builder.addPoints(track, points, zero);
                return true;
            });
        else
            builder.addTrack(track, reader.packedBoxes(run, track), zero);
    }
    return true;
}

/// Passes what `each` reads to `add` in start order; regularly checks for cancellation.
template <class Event, class TimeOf, class Each, class Add>
bool feed(TimeOf timeOf, const std::function<bool()>& cancelled, Each&& each, Add&& add)
{
    InOrder<Event, TimeOf> inOrder(timeOf);
    bool stopped = false;
    std::size_t count = 0;
    each([&](const Event& event) {
        inOrder.add(event, add);
        stopped = ++count % 4096 == 0 && cancelled();
        return !stopped;
    });
    if (!stopped)
        inOrder.finish(add);
    return !stopped;
}

bool addEvents(const RunReader& reader, RunId run, TimelineBuilder& builder,
               const std::function<bool()>& cancelled)
{
    const store::EventWindow all{.run = run};
    const auto startOf = [](const auto& event) { return event.start; };
    const auto timeOf = [](const AllocEvent& event) { return event.time; };
    if (!feed<Range>(
            startOf, cancelled, [&](auto&& take) { reader.eachRange(all, take); },
            [&](std::span<const Range> ranges) { builder.addRanges(ranges); }))
        return false;
    // CUDA calls are few compared with ops; they are merged into them.
    const std::vector<ApiCall> calls = reader.apiCalls(all);
    auto call = calls.begin();
    if (!feed<Op>(
            startOf, cancelled, [&](auto&& take) { reader.eachOp(all, take); },
            [&](std::span<const Op> ops) {
                const auto behind =
                    ops.empty() ? call : std::find_if(call, calls.end(), [&](const ApiCall& each) {
                        return each.start >= ops.back().start;
                    });
                builder.addHost(ops, {call, behind});
                call = behind;
            }))
        return false;
    builder.addHost({}, {call, calls.end()});
    return feed<DeviceEvent>(
               startOf, cancelled, [&](auto&& take) { reader.eachDeviceEvent(all, take); },
               [&](std::span<const DeviceEvent> events) { builder.addDevice(events); }) &&
           feed<AllocEvent>(
               timeOf, cancelled, [&](auto&& take) { reader.eachAllocEvent(all, take); },
               [&](std::span<const AllocEvent> events) { builder.addAllocations(events); });
}

TimelineBuilder builderOf(const RunReader& reader, RunId run, Timestamp origin)
{
    const auto kernels = std::make_shared<RunKernels>(reader, run);
    TimelineBuilder builder(
        [&reader](StringId id) { return reader.text(id); },
        [kernels](std::string_view name, DeviceEventKind kind) {
            analysis::KernelDescription description = kernels->describe(name, kind);
            return TimelineBuilder::DeviceName{std::move(description.shortName), description.family};
        },
        origin);
    const std::vector<ThreadName> threads = reader.threads(run);
    builder.setTopology({topologyWithHost(reader, run), threads});
    for (const ThreadName& thread : threads)
        builder.nameThread(thread, reader.text(thread.name));
    return builder;
}

} // namespace

TimelineBuilder builderFor(TimelineBuilder::TextOf textOf, Timestamp origin)
{
    const auto nameOf = [&families = analysis::KernelFamilies::standard()](std::string_view name,
                                                                           DeviceEventKind kind) {
        analysis::KernelDescription description = families.describe(name, kind);
        return TimelineBuilder::DeviceName{std::move(description.shortName), description.family};
    };
    return {std::move(textOf), nameOf, origin};
}

std::optional<Timeline> readTimeline(const RunReader& reader, RunId run,
                                     const std::function<bool()>& cancelled)
{
    const std::vector<store::TrackInfo> tracks = reader.tracks(run);
    if (tracks.empty())
        return timelineFromEvents(reader, run, cancelled);
    TimelineBuilder builder = builderOf(reader, run, reader.span(run)->first);
    if (!addTracks(reader, run, tracks, builder, cancelled))
        return {};
    builder.addStepTimes(reader.stepTotals(run));
    addCounters(reader, run, builder);
    return std::move(builder).build();
}

std::optional<Timeline> timelineFromEvents(const RunReader& reader, RunId run,
                                           const std::function<bool()>& cancelled)
{
    const auto span = reader.span(run);
    if (!span)
        return Timeline{};
    TimelineBuilder builder = builderOf(reader, run, span->first);
    if (!addEvents(reader, run, builder, cancelled))
        return {};
    addCounters(reader, run, builder);
    return std::move(builder).build();
}

std::optional<Timeline> withFrames(const RunReader& reader, RunId run, const Timeline& timeline,
                                   const std::function<bool()>& cancelled)
{
    TimelineBuilder builder = builderOf(reader, run, timeline.origin);
    builder.startFrom(timeline);
    const bool hasFrames = reader.counts(run).frames > 0; // calls are exact; samples are the next best
    for (const HostSamples& samples : store::hostSamples(reader.file(), run)) {
        if (!hasFrames)
            builder.addFrames(sampledFrames(samples));
        builder.addPauses(hostPauses(samples));
    }
    if (!hasFrames)
        return std::move(builder).build();
    const auto startOf = [](const Frame& frame) { return frame.start; };
    if (!feed<Frame>(
            startOf, cancelled, [&](auto&& take) { reader.eachFrame({.run = run}, take); },
            [&](std::span<const Frame> frames) { builder.addFrames(frames); }))
        return {};
    return std::move(builder).build();
}

} // namespace tilescope::query
