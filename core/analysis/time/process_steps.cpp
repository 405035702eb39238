#include "core/analysis/time/process_steps.h"

#include <algorithm>
#include <iterator>

namespace tilescope::analysis {

namespace {

const Interval& intervalOf(const Interval& interval)
{
    return interval;
}
const Interval& intervalOf(const HostStep& step)
{
    return step.range;
}

/// Calls `visit` with the index of each element that overlaps `time`. An empty time overlaps the element that
/// contains its start.
/// \param all  intervals or steps: disjoint, in start order
template <class Each, class Visit> void inEach(const std::vector<Each>& all, Interval time, Visit&& visit)
{
    time.end = std::max(time.end, time.start + Nanoseconds(1));
    auto each =
        std::ranges::upper_bound(all, time.start, {}, [](const Each& one) { return intervalOf(one).end; });
    for (; each != all.end() && intervalOf(*each).start < time.end; ++each)
        visit(static_cast<std::size_t>(each - all.begin()));
}

} // namespace

void ProcessSteps::addStep(std::int32_t number, Interval host)
{
    walls_.addStep(number, host);
    lastLaunches_.push_back(Timestamp::min());
    firstLaunches_.push_back(Timestamp::max());
}

void ProcessSteps::addCall(ApiKind kind, Interval time)
{
    unrecorded_.addCall(kind, time);
    if (kind == ApiKind::Synchronize || kind == ApiKind::Wait || kind == ApiKind::Overhead)
        waits_.push_back({.kind = kind, .start = time.start, .end = time.end});
    if (kind == ApiKind::Launch || kind == ApiKind::Synchronize)
        firstErrand_ = std::min(firstErrand_, time.start);
    if (kind == ApiKind::Launch)
        inEach(walls_.steps(), {time.start, time.start},
               [&](std::size_t step) { lastLaunches_[step] = std::max(lastLaunches_[step], time.end); });
}

void ProcessSteps::addDeviceEvent(const DeviceEvent& event, DeviceWork work)
{
    if (lastLaunches_.empty())
        return;
    unrecorded_.addActivity(event);
    std::vector<Interval>& busy = busy_[static_cast<std::size_t>(work)];
    if (!busy.empty() && event.start >= busy.back().start && event.start <= busy.back().end)
        busy.back().end = std::max(busy.back().end, event.end);
    else
        busy.push_back({event.start, event.end});
    const auto step = walls_.addWork(event);
    if (event.launched != Timestamp{})
        firstErrand_ = std::min(firstErrand_, event.launched);
    if (step && event.launched != Timestamp{})
        firstLaunches_[*step] = std::min(firstLaunches_[*step], event.launched);
    if (step && event.launched < walls_.steps()[*step].range.end)
        lastLaunches_[*step] = std::max(lastLaunches_[*step], event.launched);
}

std::vector<Interval> ProcessSteps::wallsWithin(const Interval& span) const
{
    std::vector<Interval> walls = this->walls();
    for (Interval& wall : walls) {
        wall.start = std::max(wall.start, span.start);
        wall.end = std::max(wall.start, std::min(wall.end, span.end));
    }
    return walls;
}

std::vector<StepPartition> ProcessSteps::partitions(const Interval& span) const
{
    const std::vector<Interval> walls = wallsWithin(span);
    std::vector<Interval> all;
    for (const std::vector<Interval>& some : busy_)
        all.insert(all.end(), some.begin(), some.end());
    const std::vector<Interval> busy = unionOf(std::move(all));
    std::vector<std::vector<ApiCall>> calls(walls.size());
    for (const ApiCall& call : waits_)
        inEach(walls, {call.start, call.end}, [&](std::size_t step) { calls[step].push_back(call); });
    // The time until which the host prepares launches is a property of the whole step, not of a part of it.
    std::vector<Timestamp> lastErrands = lastLaunches_;
    const std::vector<Interval> whole = this->walls();
    for (const ApiCall& call : waits_)
        if (call.kind == ApiKind::Synchronize)
            inEach(whole, {call.start, call.end},
                   [&](std::size_t step) { lastErrands[step] = std::max(lastErrands[step], call.start); });
    for (std::size_t i = 0; i + 1 < whole.size(); ++i)
        if (whole[i + 1].start == whole[i].end && firstLaunches_[i + 1] != Timestamp::max() &&
            std::ranges::binary_search(busy, whole[i].end, {}, &Interval::start))
            lastErrands[i] = std::max(lastErrands[i], std::min(firstLaunches_[i + 1], whole[i].end));
    const std::vector<Interval> unrecorded = unrecorded_.times();
    std::vector<StepPartition> partitions;
    for (std::size_t i = 0; i < walls.size(); ++i) {
        std::vector<DeviceEvent> device;
        inEach(busy, walls[i], [&](std::size_t stretch) {
            DeviceEvent& event = device.emplace_back();
            event.start = busy[stretch].start;
            event.end = busy[stretch].end;
        });
        if (firstErrand_ < whole[i].end)
            calls[i].push_back({.kind = ApiKind::Launch, .start = walls[i].start, .end = lastErrands[i]});
        std::vector<Interval> open;
        inEach(unrecorded, walls[i], [&](std::size_t each) { open.push_back(unrecorded[each]); });
        const auto after = std::ranges::lower_bound(busy, whole[i].end, {}, &Interval::start);
        const Timestamp done = after == busy.begin() ? whole[i].start : std::prev(after)->end;
        partitions.push_back(partitionStep(walls[i], device, calls[i], open, done));
    }
    return partitions;
}

std::vector<BusyParts> ProcessSteps::busyParts(const Interval& span) const
{
    const std::vector<Interval> walls = wallsWithin(span);
    std::array<std::vector<Interval>, kDeviceWorks> busy;
    std::ranges::transform(busy_, busy.begin(), unionOf);
    std::vector<BusyParts> parts;
    for (const Interval& wall : walls) {
        std::array<std::vector<Interval>, kDeviceWorks> within;
        for (std::size_t work = 0; work < kDeviceWorks; ++work)
            inEach(busy[work], wall, [&](std::size_t i) { within[work].push_back(busy[work][i]); });
        parts.push_back(partitionBusy(wall, within[0], within[1], within[2]));
    }
    return parts;
}

} // namespace tilescope::analysis
