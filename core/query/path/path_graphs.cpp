#include "core/query/path/path_graphs.h"

#include "core/query/path/path_steps.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

constexpr Nanoseconds kShortestPiece{1'000'000};

} // namespace

UsualTimes::UsualTimes(const store::RunReader& reader, RunId run, const TopologyIndex& topology) : run_(run)
{
    constexpr std::size_t kEnough = 5'000;
    constexpr std::int64_t kMostRead = 500'000;
    analysis::LaunchLag lag;
    std::int64_t read = 0;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        lag.add(topology.of(event.device, event.stream), event);
        return lag.count() < kEnough && ++read < kMostRead;
    });
    lags_ = lag.usual();
}

Nanoseconds UsualTimes::shortestBatchFetch(const store::RunReader& reader, analysis::DataNames& names) const
{
    std::call_once(isRead_, [&] {
        std::unordered_map<ThreadId, std::vector<analysis::Interval>> takes;
        const auto note = [&](const auto& event) {
            if (names.takesFromWorkers(event.name))
                takes[event.thread].push_back({event.start, event.end});
            return true;
        };
        reader.eachRange({.run = run_}, note);
        reader.eachOp({.run = run_}, note);
        reader.eachFrame({.run = run_}, note);
        shortestBatchFetch_ = Nanoseconds::max();
        for (auto& [thread, list] : takes)
            for (const analysis::Interval& outermost : analysis::unionOf(std::move(list)))
                shortestBatchFetch_ = std::min(shortestBatchFetch_, outermost.length());
    });
    return shortestBatchFetch_;
}

PathGraphs::PathGraphs(const store::RunReader& reader, RunId run, const TopologyIndex& topology,
                       const UsualTimes& usual)
    : reader_(reader), run_(run), topology_(topology), counts_(reader.counts(run)), waits_(reader.waits(run)),
      collectives_(reader.collectives(run)), computedSteps_(threadsOfComputedSteps(reader, run)),
      kernels_(reader, run), usual_(usual), names_(textsOf(reader))
{
}

std::optional<analysis::RecordedGraph> PathGraphs::within(analysis::Interval time, std::int64_t most)
{
    std::int64_t count = 0;
    const store::EventWindow window{.run = run_, .from = time.start, .to = time.end + Nanoseconds(1)};
    const auto into = [&](auto& events) {
        events.clear();
        return [&events, &count, most](const auto& event) {
            events.push_back(event);
            return ++count <= most;
        };
    };
    reader_.eachDeviceEvent(window, into(batch_.deviceEvents));
    if (count <= most)
        reader_.eachOp(window, into(batch_.ops));
    if (count <= most)
        reader_.eachApiCall(window, into(batch_.apiCalls));
    if (count <= most)
        reader_.eachRange(window, into(batch_.ranges));
    if (count > most)
        return {};
    std::erase_if(batch_.ranges,
                  [this](const Range& range) { return computedSteps_.contains(range.thread); });
    batch_.frames.clear();
    reader_.eachFrame(window, [this](const Frame& frame) {
        if (names_.loads(frame.name))
            batch_.frames.push_back(frame);
        return true;
    });
    addBatchesAround(time);
    waits_.copyWithin(time, batch_.waits);
    collectives_.copyWithin(time, batch_.collectives);
    return analysis::recordedGraph(
        {.ranges = batch_.ranges,
         .ops = batch_.ops,
         .frames = batch_.frames,
         .calls = batch_.apiCalls,
         .device = batch_.deviceEvents,
         .waits = batch_.waits,
         .collectives = batch_.collectives,
         .topology = topology_,
         .textOf = textsOf(reader_),
         .familyOf = [this](const DeviceEvent& event) { return kernels_.familyOf(event); },
         .usual = usual_.lags(),
         .shortestBatchFetch = shortestBatchFetch_,
         .onGpu = counts_.deviceEvents > 0});
}

void PathGraphs::addBatchesAround(analysis::Interval time)
{
    const auto takes = [this](const auto& event) { return names_.takesFromWorkers(event.name); };
    const bool takesBatches = std::ranges::any_of(batch_.ranges, takes) ||
                              std::ranges::any_of(batch_.ops, takes) ||
                              std::ranges::any_of(batch_.frames, takes);
    if (!takesBatches)
        return;
    shortestBatchFetch_ = usual_.shortestBatchFetch(reader_, names_);
    constexpr int kSteps = 3;
    const store::EventWindow around{
        .run = run_, .from = time.start - kSteps * time.length(), .to = time.end + kSteps * time.length()};
    const auto add = [&](auto& events) {
        return [&](const auto& event) {
            if ((event.end < time.start || event.start > time.end) && takes(event))
                events.push_back(event);
            return true;
        };
    };
    reader_.eachRange(around, add(batch_.ranges));
    reader_.eachOp(around, add(batch_.ops));
    reader_.eachFrame(around, add(batch_.frames));
}

void PathGraphs::eachPiece(analysis::Interval time, std::int64_t most, Order order, const Take& take)
{
    const bool isShort = time.length() < kShortestPiece;
    if (const auto graph = within(time, isShort ? std::numeric_limits<std::int64_t>::max() : most))
        return take(time, *graph);
    const Timestamp middle = time.start + time.length() / 2;
    const analysis::Interval first{time.start, middle};
    const analysis::Interval last{middle, time.end};
    eachPiece(order == Order::FirstToLast ? first : last, most, order, take);
    eachPiece(order == Order::FirstToLast ? last : first, most, order, take);
}

} // namespace tilescope::query
