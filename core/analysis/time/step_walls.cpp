#include "core/analysis/time/step_walls.h"

#include <algorithm>

namespace tilescope::analysis {

void StepWalls::addStep(std::int32_t number, Interval host)
{
    byNumber_.emplace(number, hosts_.size());
    hosts_.push_back(host);
}

std::optional<std::size_t> StepWalls::addWork(const DeviceEvent& event)
{
    if (event.step != lastStep_.first) {
        const auto known = byNumber_.find(event.step);
        lastStep_ = {event.step, known == byNumber_.end() ? std::nullopt : std::optional(known->second)};
    }
    const std::optional<std::size_t> step = lastStep_.second;
    if (!step)
        return step;
    const StreamKey key{event.device, event.stream};
    if (!lastStream_.second || key != lastStream_.first)
        lastStream_ = {key, &streams_[key]};
    Stream& stream = *lastStream_.second;
    stream.busy += event.end - event.start;
    if (stream.ends.size() <= *step)
        stream.ends.resize(hosts_.size(), Timestamp::min());
    stream.ends[*step] = std::max(stream.ends[*step], event.end);
    return step;
}

std::vector<Interval> StepWalls::list() const
{
    const auto busiest =
        std::ranges::max_element(streams_, {}, [](const auto& each) { return each.second.busy; });
    std::vector<Interval> walls = hosts_;
    for (std::size_t i = 0; i < walls.size(); ++i) {
        if (i > 0)
            walls[i].start = std::max(walls[i].start, walls[i - 1].end);
        if (busiest != streams_.end())
            walls[i].end = std::max(walls[i].end, busiest->second.ends[i]);
        walls[i].end = std::max(walls[i].start, walls[i].end);
    }
    return walls;
}

} // namespace tilescope::analysis
