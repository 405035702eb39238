#include "core/analysis/time/process_steps.h"

#include <algorithm>

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

/// Calls `visit` with the index of each that overlaps the time; a time without length belongs where it begins.
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
}

void ProcessSteps::addCall(ApiKind kind, Interval time)
{
    if (lastLaunches_.empty())
        return;
    if (kind == ApiKind::Synchronize || kind == ApiKind::Wait || kind == ApiKind::Overhead)
        waits_.push_back({.kind = kind, .start = time.start, .end = time.end});
    else if (kind == ApiKind::Launch)
        inEach(walls_.steps(), {time.start, time.start},
               [&](std::size_t step) { lastLaunches_[step] = std::max(lastLaunches_[step], time.end); });
}

void ProcessSteps::addDeviceEvent(const DeviceEvent& event)
{
    if (lastLaunches_.empty())
        return;
    if (!busy_.empty() && event.start >= busy_.back().start && event.start <= busy_.back().end)
        busy_.back().end = std::max(busy_.back().end, event.end);
    else
        busy_.push_back({event.start, event.end});
    const auto step = walls_.addWork(event);
    if (step && event.launched < walls_.steps()[*step].range.end)
        lastLaunches_[*step] = std::max(lastLaunches_[*step], event.launched);
}

std::vector<StepPartition> ProcessSteps::partitions() const
{
    const std::vector<Interval> walls = walls_.list();
    const std::vector<Interval> busy = unionOf(busy_);
    std::vector<std::vector<ApiCall>> calls(walls.size());
    for (const ApiCall& call : waits_)
        inEach(walls, {call.start, call.end}, [&](std::size_t step) { calls[step].push_back(call); });
    std::vector<StepPartition> partitions;
    for (std::size_t i = 0; i < walls.size(); ++i) {
        std::vector<DeviceEvent> device;
        inEach(busy, walls[i], [&](std::size_t stretch) {
            DeviceEvent& event = device.emplace_back();
            event.start = busy[stretch].start;
            event.end = busy[stretch].end;
        });
        calls[i].push_back({.kind = ApiKind::Launch, .start = walls[i].start, .end = lastLaunches_[i]});
        partitions.push_back(partitionStep(walls[i], device, calls[i]));
    }
    return partitions;
}

} // namespace tilescope::analysis
