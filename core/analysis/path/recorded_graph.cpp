#include "core/analysis/path/recorded_graph.h"

#include "core/analysis/path/device_activities.h"
#include "core/analysis/path/host_activities.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

std::optional<std::pair<Timestamp, std::uint32_t>> lastUntil(const RecordedGraph::Ends& ends, Timestamp time)
{
    const auto after = std::ranges::upper_bound(ends, time, {}, [](const auto& each) { return each.first; });
    return after == ends.begin() ? std::nullopt : std::optional(*(after - 1));
}

} // namespace

std::optional<std::uint32_t> RecordedGraph::lastOf(ProcessIndex process, ThreadId thread, Timestamp end) const
{
    const auto host = byThread.find(thread);
    const auto device = byDevice.find(process);
    const auto onHost = host == byThread.end() ? std::nullopt : lastUntil(host->second, end);
    const auto onDevice = device == byDevice.end() ? std::nullopt : lastUntil(device->second, end);
    const Timestamp ranUntil = onDevice ? onDevice->first : Timestamp::min();
    if (!thread && ranUntil != end)
        if (const auto next = startingAt(process, end))
            return next;
    if (onHost && (onHost->first == end || onHost->first >= ranUntil))
        return onHost->second;
    return onDevice ? std::optional(onDevice->second) : std::nullopt;
}

std::optional<std::uint32_t> RecordedGraph::startingAt(ProcessIndex process, Timestamp time) const
{
    const std::span<const Activity> activities = graph.activities();
    const auto startOf = [](const Activity& activity) { return activity.time.start; };
    for (auto each = std::ranges::lower_bound(activities, time, {}, startOf);
         each != activities.end() && each->time.start == time; ++each)
        if (const PathSource& source = sources[each->source]; !source.thread && source.process == process)
            return static_cast<std::uint32_t>(each - activities.begin());
    return std::nullopt;
}

RecordedGraph recordedGraph(const RecordingView& view)
{
    GraphParts parts;
    const DeviceActivities device(view, parts);
    const HostActivities host(view, device, parts);
    for (std::size_t i = 0; i < view.device.size(); ++i)
        if (view.device[i].launchThread && view.device[i].launched != Timestamp{})
            if (const auto launcher =
                    host.endingAt(view.device[i].launchThread, host.submitted(view.device[i])))
                parts.depend(*launcher, device.firstOf(i), Cause::Launch);
    RecordedGraph recorded;
    recorded.sources = std::move(parts.sources);
    recorded.graph = ActivityGraph(std::move(parts.activities), std::move(parts.dependencies), view.usual);
    const std::span<const Activity> activities = recorded.graph.activities();
    for (std::uint32_t i = 0; i < activities.size(); ++i) {
        const PathSource& source = recorded.sourceOf(i);
        auto& ends = source.thread ? recorded.byThread[source.thread] : recorded.byDevice[source.process];
        ends.emplace_back(activities[i].time.end, i);
    }
    for (auto& [thread, ends] : recorded.byThread)
        std::ranges::sort(ends);
    for (auto& [process, ends] : recorded.byDevice)
        std::ranges::sort(ends);
    return recorded;
}

} // namespace tilescope::analysis
