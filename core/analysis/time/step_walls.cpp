#include "core/analysis/time/step_walls.h"

#include <algorithm>
#include <map>

namespace tilescope::analysis {

std::size_t StepWork::Hash::operator()(const Key& key) const noexcept
{
    const auto& [device, stream, step] = key;
    std::uint64_t mixed = static_cast<std::uint64_t>(static_cast<std::uint32_t>(step)) << 32 | stream.value;
    mixed = (mixed ^ static_cast<std::uint64_t>(static_cast<std::uint16_t>(device.value)) << 20) *
            0x9E37'79B9'7F4A'7C15ULL;
    return mixed ^ mixed >> 29;
}

void StepWork::add(const DeviceEvent& event)
{
    const auto isOf = [&event](const Total& total) {
        return total.step == event.step && total.stream == event.stream && total.device == event.device;
    };
    if (last_ >= totals_.size() || !isOf(totals_[last_])) {
        last_ = places_.try_emplace({event.device, event.stream, event.step}, totals_.size()).first->second;
        if (last_ == totals_.size())
            totals_.push_back({.device = event.device, .stream = event.stream, .step = event.step});
    }
    Total& total = totals_[last_];
    total.busy += event.end - event.start;
    total.end = std::max(total.end, event.end);
}

std::vector<Interval> stepWalls(const std::vector<HostStep>& steps, const std::vector<StepWork::Total>& work)
{
    std::unordered_map<std::int32_t, std::size_t> byNumber;
    for (std::size_t i = 0; i < steps.size(); ++i)
        byNumber.emplace(steps[i].number, i);
    std::map<std::pair<DeviceIndex, StreamId>, Nanoseconds> busy;
    for (const StepWork::Total& total : work)
        if (byNumber.contains(total.step))
            busy[{total.device, total.stream}] += total.busy;
    const auto busiest = std::ranges::max_element(busy, {}, [](const auto& each) { return each.second; });
    std::vector<Timestamp> ends(steps.size(), Timestamp::min());
    for (const StepWork::Total& total : work)
        if (const auto step = byNumber.find(total.step);
            step != byNumber.end() && std::pair(total.device, total.stream) == busiest->first)
            ends[step->second] = total.end;
    std::vector<Interval> walls;
    Timestamp previous = Timestamp::min();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        Interval wall = steps[i].range;
        wall.start = std::max(wall.start, previous);
        wall.end = std::max({wall.start, wall.end, ends[i]});
        previous = wall.end;
        walls.push_back(wall);
    }
    return walls;
}

void StepWalls::addStep(std::int32_t number, Interval host)
{
    byNumber_.emplace(number, steps_.size());
    steps_.push_back({number, host});
}

std::optional<std::size_t> StepWalls::addWork(const DeviceEvent& event)
{
    if (event.step != lastStep_.first) {
        const auto known = byNumber_.find(event.step);
        lastStep_ = {event.step, known == byNumber_.end() ? std::nullopt : std::optional(known->second)};
    }
    if (lastStep_.second)
        work_.add(event);
    return lastStep_.second;
}

} // namespace tilescope::analysis
