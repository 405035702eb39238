#include "core/analysis/path/device_activities.h"

#include "core/analysis/path/inferred_waits.h"
#include "core/analysis/ranks/matched_collectives.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilescope::analysis {

namespace {

using namespace literals;

constexpr Nanoseconds kUnexplainedGap = 10'000_ns; ///< a longer gap gets an inferred dependency
constexpr std::size_t kRecentNodes = 16;           ///< of a graph launch, to search for the last end

using StreamKey = std::pair<DeviceIndex, StreamId>;

StreamKey streamOf(const DeviceEvent& event)
{
    return {event.device, event.stream};
}

} // namespace

PathPart partOfFamily(KernelFamily family)
{
    switch (family) {
    case KernelFamily::Matmul:
    case KernelFamily::Convolution:
    case KernelFamily::Attention:
    case KernelFamily::Scan:
    case KernelFamily::Other:
        return PathPart::Compute;
    case KernelFamily::Collective:
        return PathPart::Communication;
    default:
        return PathPart::Memory;
    }
}

DeviceActivities::DeviceActivities(const RecordingView& view, GraphParts& parts)
    : view_(view), parts_(parts), order_(view.device.size()), firsts_(view.device.size()),
      lasts_(view.device.size()), collectiveOf_(view.device.size(), -1), causedAt_(view.device.size())
{
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return view.device[i].start; });
    findCollectives();
    findCalls();
    addActivities();
    addStreamOrder();
    addGraphOrder();
    addStreamWaits();
    addInferredOrder();
}

const std::vector<DeviceActivities::End>& DeviceActivities::endsOf(ProcessIndex process) const
{
    static const std::vector<End> kNone;
    const auto found = ends_.find(process);
    return found == ends_.end() ? kNone : found->second;
}

ProcessIndex DeviceActivities::processOf(const DeviceEvent& event) const
{
    return view_.topology.of(event.device, event.stream);
}

KernelFamily DeviceActivities::familyOf(const DeviceEvent& event)
{
    const auto [known, isNew] = families_.try_emplace(event.name);
    if (isNew && view_.familyOf)
        known->second = view_.familyOf(event);
    else if (isNew)
        known->second = KernelFamilies::standard().describe(view_.textOf(event.name), event.kind).family;
    return known->second;
}

void DeviceActivities::findCollectives()
{
    std::unordered_map<std::uint32_t, std::size_t> events; // device events of collectives, by correlation
    for (const Collective& record : view_.collectives)
        if (record.device && record.correlation)
            events.emplace(record.correlation.value, view_.device.size());
    for (std::size_t i = 0; i < view_.device.size(); ++i)
        if (const auto found = events.find(view_.device[i].correlation.value); found != events.end())
            found->second = i;
    for (const MatchedCollective& matched :
         matchCollectives(view_.collectives, {}, view_.topology, view_.textOf)) {
        Arrivals arrivals;
        for (const CollectivePart& part : matched.parts) {
            const auto found = events.find(view_.collectives[part.record].correlation.value);
            if (found == events.end() || found->second == view_.device.size())
                continue;
            collectiveOf_[found->second] = static_cast<std::int32_t>(collectives_.size());
            arrivals.ready = std::max(arrivals.ready, view_.device[found->second].start);
        }
        collectives_.push_back(std::move(arrivals));
    }
}

void DeviceActivities::findCalls()
{
    for (const ApiCall& call : view_.calls)
        if (call.correlation && (call.kind == ApiKind::Launch || call.kind == ApiKind::Memory))
            calls_.emplace(call.correlation.value, call.end);
}

void DeviceActivities::addActivities()
{
    std::map<ProcessIndex, Timestamp> ranUntilOf;
    for (const std::size_t i : order_) {
        const DeviceEvent& event = view_.device[i];
        const KernelFamily family = familyOf(event);
        const bool isKernel = event.kind == DeviceEventKind::Kernel;
        const ProcessIndex process = processOf(event);
        const std::uint32_t source =
            parts_.addSource({.kind = isKernel ? PathSource::Kind::Kernel : PathSource::Kind::Copy,
                              .family = family,
                              .name = event.name,
                              .path = event.path,
                              .process = process,
                              .device = event.device,
                              .stream = event.stream,
                              .step = event.step});
        Arrivals* const arrivals =
            collectiveOf_[i] < 0 ? nullptr : &collectives_[static_cast<std::size_t>(collectiveOf_[i])];
        const PathPart part = arrivals    ? PathPart::Communication
                              : !isKernel ? PathPart::Memory
                                          : partOfFamily(family);
        const auto call = event.correlation ? calls_.find(event.correlation.value) : calls_.end();
        // A copy call that returns after its copy has waited for it: it does not explain when the copy began.
        const bool hasWaited = !isKernel && call != calls_.end() && call->second >= event.end;
        const Timestamp calledUntil = call == calls_.end() || hasWaited ? Timestamp{} : call->second;
        // If a rank leaves before another arrives, as in a broadcast, the ranks do not meet.
        if (arrivals && arrivals->ready < event.end) {
            firsts_[i] = parts_.add({event.start, event.start}, part, source, calledUntil);
            lasts_[i] = parts_.add({arrivals->ready, event.end}, part, source);
            arrivals->activities.push_back(firsts_[i]);
        } else {
            firsts_[i] = lasts_[i] = parts_.add({event.start, event.end}, part, source, calledUntil);
            collectiveOf_[i] = -1;
        }
        // Before the first activity of a view, the device may have been busy. Copies wait for the host as well.
        Timestamp& ranUntil = ranUntilOf.try_emplace(process, Timestamp::max()).first->second;
        parts_.activities[firsts_[i]].wasDeviceBusy = ranUntil > event.launched || !isKernel;
        ranUntil = ranUntil == Timestamp::max() ? event.end : ranUntil;
        ranUntil = std::max(ranUntil, event.end);
        causedAt_[i] = event.launched;
        ends_[process].push_back({event.end, lasts_[i], i});
    }
    for (auto& [process, ends] : ends_)
        std::ranges::stable_sort(ends, {}, &End::time);
    for (const std::size_t i : order_)
        if (collectiveOf_[i] >= 0)
            for (const std::uint32_t arrival :
                 collectives_[static_cast<std::size_t>(collectiveOf_[i])].activities)
                parts_.depend(arrival, lasts_[i], Cause::Collective);
}

void DeviceActivities::addStreamOrder()
{
    std::map<StreamKey, std::size_t> before;
    for (const std::size_t i : order_) {
        const auto [previous, isFirst] = before.try_emplace(streamOf(view_.device[i]), i);
        if (!isFirst) {
            parts_.depend(lasts_[previous->second], firsts_[i], Cause::Stream);
            causedAt_[i] = std::max(causedAt_[i], view_.device[previous->second].end);
        }
        previous->second = i;
    }
}

void DeviceActivities::addGraphOrder()
{
    std::unordered_map<std::uint32_t, std::vector<std::size_t>>
        recent; // recent nodes of a graph, by the correlation of its launch
    for (const std::size_t i : order_) {
        const DeviceEvent& event = view_.device[i];
        if (event.graphNode == 0 || !event.correlation)
            continue;
        std::vector<std::size_t>& nodes = recent[event.correlation.value];
        std::optional<std::size_t> last;
        for (const std::size_t node : nodes)
            if (view_.device[node].end <= event.start &&
                (!last || view_.device[node].end > view_.device[*last].end))
                last = node;
        if (last && streamOf(view_.device[*last]) != streamOf(event)) {
            parts_.depend(lasts_[*last], firsts_[i], Cause::Graph);
            causedAt_[i] = std::max(causedAt_[i], view_.device[*last].end);
        }
        if (nodes.size() == kRecentNodes)
            nodes.erase(nodes.begin());
        nodes.push_back(i);
    }
}

void DeviceActivities::addStreamWaits()
{
    std::map<StreamKey, std::vector<std::size_t>> streams; // by correlation: launches are numbered in order
    for (const std::size_t i : order_)
        if (view_.device[i].correlation)
            streams[streamOf(view_.device[i])].push_back(i);
    const auto correlationOf = [this](std::size_t i) { return view_.device[i].correlation; };
    for (auto& [stream, events] : streams)
        std::ranges::stable_sort(events, {}, correlationOf);
    for (const Wait& wait : view_.waits) {
        if (wait.kind != WaitKind::StreamWait || !wait.recordCorrelation || !wait.correlation)
            continue;
        const auto awaited = streams.find({wait.device, wait.waitedFor});
        const auto waiting = streams.find({wait.device, wait.stream});
        if (awaited == streams.end() || waiting == streams.end())
            continue;
        const auto after =
            std::ranges::lower_bound(awaited->second, wait.recordCorrelation, {}, correlationOf);
        const auto first = std::ranges::upper_bound(waiting->second, wait.correlation, {}, correlationOf);
        if (after == awaited->second.begin() || first == waiting->second.end())
            continue;
        const std::size_t from = *(after - 1);
        if (view_.device[from].start <= view_.device[*first].start) {
            parts_.depend(lasts_[from], firsts_[*first], Cause::StreamWait);
            causedAt_[*first] = std::max(causedAt_[*first], view_.device[from].end);
        }
    }
}

void DeviceActivities::addInferredOrder()
{
    for (const InferredWait& wait : inferredWaits(view_)) {
        parts_.depend(lasts_[wait.from], firsts_[wait.to], Cause::StreamWait);
        causedAt_[wait.to] = std::max(causedAt_[wait.to], view_.device[wait.from].end);
    }
    for (const std::size_t i : order_) {
        const DeviceEvent& event = view_.device[i];
        if (event.start - causedAt_[i] <= kUnexplainedGap)
            continue;
        const std::vector<End>& ends = endsOf(processOf(event));
        auto end = std::ranges::upper_bound(ends, event.start, {}, &End::time);
        // The work that ended last on another stream, if it ended after the recorded cause.
        while (end != ends.begin() && (end - 1)->time > causedAt_[i] &&
               (streamOf(view_.device[(end - 1)->event]) == streamOf(event) || (end - 1)->event == i))
            --end;
        if (end != ends.begin() && (end - 1)->time > causedAt_[i])
            parts_.depend((end - 1)->activity, firsts_[i], Cause::Inferred);
    }
}

} // namespace tilescope::analysis
