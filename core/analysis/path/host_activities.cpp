#include "core/analysis/path/host_activities.h"

#include "core/analysis/ranks/matched_collectives.h"
#include "core/analysis/time/data_loading.h"
#include "core/analysis/work/op_families.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace tilescope::analysis {

namespace {

using namespace literals;

constexpr Nanoseconds kShortestHandOver = 5'000_ns;
constexpr int kLeast = 2; ///< a thread waits for another that works for one part in so many of the time
constexpr int kLeastOfWoken = 4;                 ///< the same of a thread that begins or ends with the wait
constexpr int kSoon = 10;                        ///< within one part in so many of the time
constexpr Nanoseconds kWakeUp = 50'000_ns;       ///< in which a thread continues that another one wakes
constexpr Nanoseconds kLongSilence = 200'000_ns; ///< as while the tracer writes its buffers
constexpr Nanoseconds kShortestWait = 2'000_ns;  ///< of a copy call for its stream
constexpr std::int64_t kStagedBytes =
    64 * 1024; ///< smaller data from pageable memory travels with its command
constexpr Nanoseconds kShortestStaging = 8'000_ns; ///< a shorter copy call has not staged data
constexpr std::array<std::string_view, 3> kCollectiveOps{"c10d::", "gloo:", "nccl:"};

bool isCollectiveOp(std::string_view name)
{
    return std::ranges::any_of(kCollectiveOps,
                               [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool isCopyCall(std::string_view name)
{
    return name.find("Memcpy") != std::string_view::npos || name.find("Memset") != std::string_view::npos;
}

/// Whether a call frees memory of a device, for which it waits until the device has finished.
bool isFreeCall(std::string_view name)
{
    const bool isOfDevice = name.starts_with("cudaFree") || name.starts_with("cuMemFree");
    return isOfDevice && name.find("Async") == std::string_view::npos &&
           name.find("Host") == std::string_view::npos;
}

/// Whether a call makes a stream wait, but not the host.
bool isStreamWaitCall(std::string_view name)
{
    return name.find("WaitEvent") != std::string_view::npos;
}

PathPart partOfCall(const ApiCall& call, std::string_view name)
{
    switch (call.kind) {
    case ApiKind::Launch:
        return PathPart::Launch;
    case ApiKind::Memory:
        return isCopyCall(name) ? PathPart::Launch : PathPart::Host;
    case ApiKind::Synchronize:
        return isStreamWaitCall(name) ? PathPart::Host : PathPart::Synchronization;
    case ApiKind::Wait:
        return PathPart::Synchronization;
    default:
        return PathPart::Host;
    }
}

} // namespace

HostActivities::HostActivities(const RecordingView& view, const DeviceActivities& device, GraphParts& parts)
    : view_(view), device_(device), parts_(parts), queues_(view)
{
    findStagedCopies();
    for (const Wait& wait : view.waits)
        if (wait.kind != WaitKind::StreamWait && wait.correlation)
            waits_.emplace(wait.correlation.value, &wait);
    readEvents();
    readCalls();
    for (const DeviceEvent& event : view.device)
        if (event.launchThread && event.launched != Timestamp{})
            laneOf(event.launchThread).launches.push_back(submitted(event));
    readCollectives();
    cutLanes();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        addActivities(lane);
    addHandOvers();
    addCollectives();
}

void HostActivities::findStagedCopies()
{
    std::unordered_map<std::uint32_t, Interval> calls;
    for (const ApiCall& call : view_.calls)
        if (call.correlation && call.kind == ApiKind::Memory && isCopyCall(view_.textOf(call.name)))
            calls.emplace(call.correlation.value, Interval{call.start, call.end});
    std::vector<std::size_t> order(view_.device.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [this](std::size_t i) { return view_.device[i].start; });
    std::map<std::pair<DeviceIndex, StreamId>, std::size_t> before;
    for (const std::size_t i : order) {
        const DeviceEvent& event = view_.device[i];
        const auto [previous, isFirst] = before.try_emplace({event.device, event.stream}, i);
        const std::size_t last = std::exchange(previous->second, i);
        // Data for the host is staged after the copy, which waits on the device for what is before it.
        const bool mayBeStaged = event.correlation && event.kind == DeviceEventKind::Memcpy &&
                                 event.copy != CopyKind::DeviceToHost &&
                                 view_.textOf(event.name).find("Pinned") == std::string_view::npos;
        const auto call = mayBeStaged ? calls.find(event.correlation.value) : calls.end();
        if (isFirst || call == calls.end())
            continue;
        const Timestamp ended = view_.device[last].end;
        const bool takesLong = call->second.length() >= kShortestStaging;
        const Timestamp staged = takesLong ? std::min(call->second.end, event.start) : event.launched;
        // It would have waited for its stream.
        if (ended <= call->second.start && event.copy == CopyKind::HostToDevice &&
            event.bytes > kStagedBytes && view_.textOf(event.name).find("Pageable") != std::string_view::npos)
            stagedCopies_.emplace(event.correlation.value, StagedCopy{last, staged, false});
        else if (takesLong && ended - call->second.start >= kShortestWait && ended < staged)
            stagedCopies_.emplace(event.correlation.value, StagedCopy{last, staged, true});
    }
}

Timestamp HostActivities::submitted(const DeviceEvent& event) const
{
    const auto staged = stagedCopies_.find(event.correlation.value);
    return event.correlation && staged != stagedCopies_.end() ? staged->second.submitted : event.launched;
}

DeviceActivities::End HostActivities::endOf(std::size_t event) const
{
    return {view_.device[event].end, device_.lastOf(event), event};
}

HostActivities::Lane& HostActivities::laneOf(ThreadId thread)
{
    const auto [known, isNew] = threads_.try_emplace(thread, lanes_.size());
    if (isNew) {
        const ProcessIndex process = view_.topology.of(thread);
        processes_[process].push_back(lanes_.size());
        lanes_.push_back({.thread = thread, .process = process});
        lanes_.back().source = parts_.addSource({.process = process, .thread = thread});
    }
    return lanes_[known->second];
}

void HostActivities::addEvent(ThreadId thread, Event event, const PathSource& source)
{
    Lane& lane = laneOf(thread);
    event.host.source = parts_.addSource(source);
    parts_.sources.back().process = lane.process;
    parts_.sources.back().thread = thread;
    lane.events.push_back(event);
}

void HostActivities::readEvents()
{
    DataNames names(view_.textOf);
    for (const Range& range : view_.ranges)
        addEvent(range.thread,
                 {.host = {{range.start, range.end}},
                  .layer = 0,
                  .mayWait = true,
                  .loads = names.loads(range.name),
                  .takes = names.takesFromWorkers(range.name)},
                 {.kind = PathSource::Kind::Range, .name = range.name, .path = range.path});
    for (const Frame& frame : view_.frames)
        if (names.loads(frame.name))
            addEvent(frame.thread,
                     {.host = {{frame.start, frame.end}},
                      .layer = 1,
                      .mayWait = true,
                      .loads = true,
                      .takes = names.takesFromWorkers(frame.name)},
                     {.kind = PathSource::Kind::Frame, .name = frame.name});
    std::unordered_map<StringId, KernelFamily> families;
    for (const Op& op : view_.ops) {
        const auto [family, isNew] = families.try_emplace(op.name, KernelFamily::Other);
        if (isNew && !view_.onGpu)
            family->second = familyOfOp(view_.textOf(op.name));
        const bool isCollective = isCollectiveOp(view_.textOf(op.name));
        const bool isWork = !view_.onGpu && family->second != KernelFamily::Other && !isCollective;
        addEvent(op.thread,
                 {.host = {{op.start, op.end}},
                  .layer = 2,
                  .part = isWork ? partOfFamily(family->second) : PathPart::Host,
                  .mayWait = isCollective,
                  .isActive = !isCollective,
                  .loads = names.loads(op.name),
                  .takes = names.takesFromWorkers(op.name)},
                 {.kind = PathSource::Kind::Op, .family = family->second, .name = op.name, .path = op.path});
    }
}

void HostActivities::readCalls()
{
    std::unordered_map<RangeId, StringId> paths;
    for (const Range& range : view_.ranges)
        paths.emplace(range.id, range.path);
    for (const ApiCall& call : view_.calls) {
        const auto path = paths.find(call.range);
        addEvent(call.thread,
                 {.host = {{call.start, call.end}},
                  .layer = 3,
                  .part = partOfCall(call, view_.textOf(call.name)),
                  .call = &call,
                  .isActive = true},
                 {.kind = PathSource::Kind::Call,
                  .name = call.name,
                  .path = call.range && path != paths.end() ? path->second : StringId{}});
    }
}

void HostActivities::readCollectives()
{
    collectiveOf_.assign(view_.collectives.size(), 0);
    for (const MatchedCollective& matched :
         matchCollectives(view_.collectives, {}, view_.topology, view_.textOf)) {
        CollectiveCalls calls;
        for (const CollectivePart& part : matched.parts) {
            collectiveOf_[part.record] = collectives_.size();
            calls.ready = std::max(calls.ready, part.time.start);
        }
        collectives_.push_back(std::move(calls));
    }
    for (std::size_t i = 0; i < view_.collectives.size(); ++i) {
        const Collective& record = view_.collectives[i];
        if (!record.device && record.thread && record.peer < 0)
            addEvent(record.thread,
                     {.host = {{record.start, record.end}},
                      .layer = 4,
                      .part = PathPart::Communication,
                      .collective = i,
                      .isActive = true},
                     {.kind = PathSource::Kind::Collective,
                      .family = KernelFamily::Collective,
                      .name = record.op,
                      .path = record.path});
    }
}

void HostActivities::cutLanes()
{
    for (Lane& lane : lanes_) {
        std::ranges::sort(lane.launches);
        // On a thread of autograd, often only launches and few calls are recorded.
        if (!lane.launches.empty())
            lane.events.push_back({.host = {{lane.launches.front(), lane.launches.back()}, lane.source},
                                   .layer = -1,
                                   .mayWait = true});
        std::ranges::stable_sort(lane.events, {}, [](const Event& event) {
            return std::tuple(event.host.time.start, -nanosecondsOf(event.host.time.end), event.layer);
        });
        // Events within a collective belong to the collective.
        Interval collective{};
        std::erase_if(lane.events, [&collective](const Event& event) {
            if (event.collective)
                collective = event.host.time;
            return !event.collective && event.host.time.start >= collective.start &&
                   event.host.time.end <= collective.end;
        });
        std::vector<HostEvent> events;
        events.reserve(lane.events.size());
        for (const Event& event : lane.events)
            events.push_back(event.host);
        findBatches(lane);
        std::vector<Timestamp> cuts = lane.launches;
        for (const auto& [taken, batch] : lane.batches)
            if (batch.isLate)
                cuts.push_back(batch.loading.end);
        std::ranges::sort(cuts);
        lane.spans = hostSpans(events, cuts);
        findActive(lane);
        constexpr int kRange = 0;
        const auto isCollective = [](const Event& event) { return event.collective.has_value(); };
        lane.isForCollectives = std::ranges::any_of(lane.events, isCollective) &&
                                std::ranges::all_of(lane.events, [&isCollective](const Event& event) {
                                    return isCollective(event) || event.layer == kRange;
                                });
    }
}

void HostActivities::findBatches(Lane& lane)
{
    std::vector<Interval> taken;
    for (const Event& event : lane.events)
        if (event.takes && (taken.empty() || event.host.time.start >= taken.back().end))
            taken.push_back(event.host.time);
    const std::vector<std::optional<LoadedBatch>> batches = loadedBatches(taken, view_.shortestBatchFetch);
    for (std::size_t i = 0; i < taken.size(); ++i)
        if (batches[i])
            lane.batches.emplace_back(taken[i], *batches[i]);
}

/// The work of the processes that load its batches, one after the other.
void HostActivities::addLoadings(Lane& lane, std::size_t index)
{
    if (lane.batches.empty())
        return;
    const std::uint32_t source = parts_.addSource(
        {.process = lane.process, .thread = ThreadId{kFirstDataWorkers + static_cast<std::uint32_t>(index)}});
    for (const auto& [taken, batch] : lane.batches) {
        const std::uint32_t loading = parts_.add(batch.loading, PathPart::DataLoading, source);
        if (!lane.loadings.empty())
            parts_.depend(lane.loadings.back(), loading, Cause::Program);
        lane.loadings.push_back(loading);
    }
}

/// Processes that paused between two batches had loaded as many as they may, until the thread took one.
void HostActivities::letTakesMakeRoom(const Lane& lane)
{
    for (std::size_t i = 1; i < lane.batches.size(); ++i) {
        const Timestamp start = lane.batches[i].second.loading.start;
        if (start <= lane.batches[i - 1].second.loading.end)
            continue;
        const auto next = std::ranges::upper_bound(
            lane.batches.begin(), lane.batches.begin() + static_cast<std::ptrdiff_t>(i), start, {},
            [](const auto& batch) { return batch.first.end; });
        if (next == lane.batches.begin())
            continue;
        const auto ended = std::ranges::upper_bound(lane.ended, (next - 1)->first.end, {}, &Ended::time);
        if (ended != lane.ended.begin())
            parts_.depend((ended - 1)->activity, lane.loadings[i], Cause::HandOver);
    }
}

void HostActivities::findActive(Lane& lane)
{
    auto launch = lane.launches.begin();
    const auto add = [&lane](Interval time) {
        if (!lane.active.empty() && lane.active.back().end == time.start)
            lane.active.back().end = time.end;
        else
            lane.active.push_back(time);
    };
    for (const HostSpan& span : lane.spans) {
        for (; launch != lane.launches.end() && *launch <= span.time.start; ++launch)
            add({*launch, *launch});
        if (span.event && lane.events[*span.event].isActive)
            add(span.time);
    }
}

std::optional<std::uint32_t> HostActivities::endingAt(ThreadId thread, Timestamp time) const
{
    const auto lane = threads_.find(thread);
    if (lane == threads_.end())
        return {};
    const std::vector<Ended>& ended = lanes_[lane->second].ended;
    const auto after = std::ranges::upper_bound(ended, time, {}, &Ended::time);
    return after == ended.begin() ? std::nullopt : std::optional((after - 1)->activity);
}

std::uint32_t HostActivities::addSpan(Lane& lane, Interval time, PathPart part, std::uint32_t source)
{
    const std::uint32_t activity = parts_.add(time, part, source);
    if (!lane.ended.empty())
        parts_.depend(lane.ended.back().activity, activity, Cause::Program);
    lane.ended.push_back({time.end, activity});
    return activity;
}

void HostActivities::addActivities(std::size_t index)
{
    Lane& lane = lanes_[index];
    // What is launched at once still depends on the thread. A thread that only launched once has no other time.
    if (!lane.launches.empty() &&
        (lane.spans.empty() || lane.launches.front() <= lane.spans.front().time.start))
        addSpan(lane, {lane.launches.front(), lane.launches.front()}, PathPart::Host, lane.source);
    addLoadings(lane, index);
    Timestamp loadsUntil = Timestamp::min();
    auto event = lane.events.begin();
    std::size_t batch = 0;
    for (const HostSpan& span : lane.spans) {
        for (; event != lane.events.end() && event->host.time.start <= span.time.start; ++event)
            if (event->loads)
                loadsUntil = std::max(loadsUntil, event->host.time.end);
        const Event* const innermost = span.event ? &lane.events[*span.event] : nullptr;
        PathPart part = innermost ? innermost->part : PathPart::Host;
        if (span.time.start < loadsUntil && (part == PathPart::Host || part == PathPart::Launch))
            part = PathPart::DataLoading;
        const std::uint32_t source = innermost ? innermost->host.source : lane.source;
        if (batch < lane.batches.size() && span.time.start >= lane.batches[batch].first.start) {
            const LoadedBatch& taken = lane.batches[batch].second;
            if (taken.isLate && span.time.end <= taken.loading.end && part == PathPart::DataLoading)
                continue; // the thread waits
            if (const std::uint32_t loading = lane.loadings[batch++]; part == PathPart::DataLoading) {
                parts_.depend(loading, addSpan(lane, span.time, part, source), Cause::HandOver);
                continue;
            }
        }
        if (innermost && innermost->collective) {
            addCollective(lane, span.time, *innermost);
            continue;
        }
        if (innermost && innermost->call)
            if (const auto end = awaited(lane, *innermost->call, span.time)) {
                addWaited(lane, *innermost->call, span.time, part, source, *end);
                continue;
            }
        if (innermost && innermost->call)
            if (const auto end = endedBefore(lane, *innermost->call, span.time.start)) {
                parts_.depend(end->activity, addSpan(lane, span.time, part, source), Cause::Device);
                continue;
            }
        if (!innermost || innermost->mayWait)
            if (std::optional<HandOver> handOver = lane.isForCollectives ? submittedBy(index, span.time.end)
                                                                         : handedOver(index, span.time)) {
                handOver->to = addSpan(lane, {handOver->time, span.time.end}, part, source);
                handOvers_.push_back(*handOver);
                continue;
            }
        addSpan(lane, span.time, part, source);
    }
    letTakesMakeRoom(lane);
    if (std::optional<HandOver> handOver = startedBy(index)) {
        handOver->to = lane.ended.front().activity;
        handOvers_.push_back(*handOver);
    }
}

/// A call that waits until `end`.
void HostActivities::addWaited(Lane& lane, const ApiCall& call, Interval span, PathPart part,
                               std::uint32_t source, const DeviceActivities::End& end)
{
    // After the device has finished, cudaFree still has its own work to do.
    // A call that waited for a place in the queue, or to stage a copy, still has to launch.
    const bool launches = part == PathPart::Launch && view_.device[end.event].correlation != call.correlation;
    const PathPart rest = part == PathPart::Host || launches ? part : PathPart::Synchronization;
    const Timestamp from = std::max(end.time, span.start);
    // A call that waits for a place also takes the time of one that does not: what it does not need after the wait, before it.
    if (const auto room = queues_.makesRoomFor(call.correlation.value);
        launches && room && room->event == end.event)
        if (const Nanoseconds before = std::min(room->shortestCall - (span.end - from), from - span.start);
            before > Nanoseconds(0))
            addSpan(lane, {span.start, span.start + before}, part, source);
    parts_.depend(end.activity, addSpan(lane, {from, span.end}, rest, source), Cause::Device);
}

void HostActivities::addCollective(Lane& lane, Interval span, const Event& event)
{
    CollectiveCalls& calls = collectives_[collectiveOf_[*event.collective]];
    // If a rank leaves before another arrives, as in a broadcast, the ranks do not meet.
    if (span != event.host.time || calls.ready >= span.end) {
        addSpan(lane, span, PathPart::Communication, event.host.source);
        return;
    }
    calls.arrivals.push_back(
        addSpan(lane, {span.start, span.start}, PathPart::Communication, event.host.source));
    calls.transfers.push_back(
        addSpan(lane, {calls.ready, span.end}, PathPart::Communication, event.host.source));
}

void HostActivities::addCollectives()
{
    for (const CollectiveCalls& calls : collectives_)
        for (const std::uint32_t transfer : calls.transfers)
            for (const std::uint32_t arrival : calls.arrivals)
                parts_.depend(arrival, transfer, Cause::Collective);
}

std::optional<DeviceActivities::End> HostActivities::awaited(const Lane& lane, const ApiCall& call,
                                                             Interval span) const
{
    const bool isCopy = call.kind == ApiKind::Memory && isCopyCall(view_.textOf(call.name));
    if (const auto staged = stagedCopies_.find(call.correlation.value);
        isCopy && call.correlation && staged != stagedCopies_.end() && staged->second.hasWaited &&
        span.end <= staged->second.submitted)
        return endOf(staged->second.before);
    const auto isAwaited = [&](const DeviceEvent& event) {
        return isCopy ? call.correlation && event.correlation == call.correlation : isAwaitedBy(call, event);
    };
    const std::vector<DeviceActivities::End>& ends = device_.endsOf(lane.process);
    if (isCopy || waitsForDevice(call))
        for (auto end = std::ranges::upper_bound(ends, span.end, {}, &DeviceActivities::End::time);
             end != ends.begin() && (end - 1)->time > span.start; --end)
            if (isAwaited(view_.device[(end - 1)->event]))
                return *(end - 1);
    // A copy takes a place in the queue as a kernel does.
    if ((call.kind == ApiKind::Launch || isCopy) && call.correlation)
        if (const auto room = queues_.makesRoomFor(call.correlation.value);
            room && view_.device[room->event].end <= span.end)
            return endOf(room->event);
    return {};
}

bool HostActivities::waitsForDevice(const ApiCall& call) const
{
    return (call.kind == ApiKind::Synchronize && !isStreamWaitCall(view_.textOf(call.name))) ||
           call.kind == ApiKind::Wait ||
           (call.kind == ApiKind::Memory && isFreeCall(view_.textOf(call.name)));
}

const Wait* HostActivities::waitOf(const ApiCall& call) const
{
    const auto known = waits_.find(call.correlation.value);
    return call.correlation && known != waits_.end() ? known->second : nullptr;
}

bool HostActivities::isAwaitedBy(const ApiCall& call, const DeviceEvent& event) const
{
    const Wait* const wait = waitOf(call);
    if (!wait || !wait->stream || wait->kind == WaitKind::Context)
        return true;
    return event.stream == wait->stream &&
           (!wait->recordCorrelation || event.correlation <= wait->recordCorrelation);
}

/// The last work that a call would have waited for, had it not ended before the call.
std::optional<DeviceActivities::End> HostActivities::endedBefore(const Lane& lane, const ApiCall& call,
                                                                 Timestamp time) const
{
    if (const auto staged = stagedCopies_.find(call.correlation.value);
        call.correlation && call.kind == ApiKind::Memory && staged != stagedCopies_.end() &&
        !staged->second.hasWaited && time <= staged->second.submitted)
        return endOf(staged->second.before);
    const bool isOfUnknownEvent =
        !waitOf(call) && view_.textOf(call.name).find("EventSynchronize") != std::string_view::npos;
    if (!waitsForDevice(call) || isOfUnknownEvent)
        return {};
    constexpr std::ptrdiff_t kMostTried = 64;
    const std::vector<DeviceActivities::End>& ends = device_.endsOf(lane.process);
    const auto after = std::ranges::upper_bound(ends, time, {}, &DeviceActivities::End::time);
    for (auto end = after; end != ends.begin() && after - end < kMostTried; --end)
        if (isAwaitedBy(call, view_.device[(end - 1)->event]))
            return *(end - 1);
    return {};
}

std::optional<HostActivities::HandOver> HostActivities::handedOver(std::size_t index, Interval span) const
{
    if (span.length() < kShortestHandOver)
        return {};
    std::optional<HandOver> found;
    for (const std::size_t other : processes_.at(lanes_[index].process)) {
        const std::vector<Interval>& active = lanes_[other].active;
        const auto after = std::ranges::upper_bound(active, span.end, {}, &Interval::end);
        if (other == index || after == active.begin() || (after != active.end() && after->start < span.end))
            continue;
        const auto first = std::ranges::upper_bound(active.begin(), after, span.start, {}, &Interval::end);
        if (first == after)
            continue;
        const Timestamp end = (after - 1)->end;
        const Timestamp start = std::max(first->start, span.start);
        // Also a thread that had paused, and begins as soon as this one is silent.
        const Nanoseconds later = start - span.start;
        const bool isWoken = first->start >= span.start && kSoon * later <= span.length() &&
                             (first == active.begin() || span.start - (first - 1)->end >= later);
        // Or one that was silent before, because the tracer worked on it, and falls silent just before this one continues.
        const bool isFollowed = kSoon * (span.end - end) <= span.length();
        // While the tracer writes its buffers, both are silent for long. Then the other one takes turns with this one: it begins as soon
        // as this one is silent, or is silent itself from just before this one continues.
        const bool isPrompt = isWoken && later <= kWakeUp;
        const bool isAnswered =
            span.end - end <= kWakeUp && (after == active.end() || after->start - span.end >= span.end - end);
        const bool takesTurns = span.length() >= kLongSilence && (isPrompt || isAnswered);
        if ((takesTurns ||
             (isWoken || isFollowed ? kLeastOfWoken : kLeast) * (end - start) >= span.length()) &&
            (!found || end > found->time))
            found = HandOver{.lane = other, .time = end};
    }
    return found;
}

std::optional<HostActivities::HandOver> HostActivities::startedBy(std::size_t index) const
{
    if (lanes_[index].spans.empty())
        return {};
    const Timestamp start = lanes_[index].spans.front().time.start;
    if (lanes_[index].isForCollectives)
        return submittedBy(index, start);
    std::optional<HandOver> found;
    std::optional<HandOver> busy;
    for (const std::size_t other : processes_.at(lanes_[index].process)) {
        const std::vector<Interval>& active = lanes_[other].active;
        const auto after = std::ranges::upper_bound(active, start, {}, &Interval::end);
        if (other == index)
            continue;
        // While another thread works, nothing says whether it started this one before; it is the only known cause.
        if (after != active.end() && after->start < start) {
            busy = busy ? busy : std::optional(HandOver{.lane = other, .time = start, .isWithin = true});
            continue;
        }
        if (after != active.begin() && (!found || (after - 1)->end > found->time))
            found = HandOver{.lane = other, .time = (after - 1)->end};
    }
    return found ? found : busy;
}

/// The op that submits a collective, or otherwise the last activity before `time`.
std::optional<HostActivities::HandOver> HostActivities::submittedBy(std::size_t index, Timestamp time) const
{
    std::optional<HandOver> found;
    for (const std::size_t other : processes_.at(lanes_[index].process)) {
        const std::vector<Interval>& active = lanes_[other].active;
        const auto after = std::ranges::upper_bound(active, time, {}, &Interval::end);
        if (other == index || lanes_[other].isForCollectives)
            continue;
        if (after != active.end() && after->start <= time)
            return HandOver{.lane = other, .time = time, .isWithin = true};
        if (after != active.begin() && (!found || (after - 1)->end > found->time))
            found = HandOver{.lane = other, .time = (after - 1)->end};
    }
    return found;
}

void HostActivities::addHandOvers()
{
    for (const HandOver& handOver : handOvers_) {
        const std::vector<Ended>& ended = lanes_[handOver.lane].ended;
        const auto after = std::ranges::upper_bound(ended, handOver.time, {}, &Ended::time);
        if (handOver.isWithin && after != ended.end())
            parts_.depend(after->activity, handOver.to, Cause::HandOver);
        else if (after != ended.begin())
            parts_.depend((after - 1)->activity, handOver.to, Cause::HandOver);
    }
}

} // namespace tilescope::analysis
