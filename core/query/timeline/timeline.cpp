#include "core/query/timeline/timeline.h"

#include "core/model/metric.h"

#include <algorithm>
#include <iterator>

namespace tilescope::query {

std::size_t Lane::events() const
{
    std::size_t total = allocated.size() + values.size();
    for (const Track& row : rows)
        total += row.size();
    return total;
}

bool Lane::isMetric() const
{
    return kind == Kind::Counter && tilescope::isMetric(counter);
}

std::optional<std::pair<std::int64_t, std::int64_t>> Lane::holeAt(std::int64_t time) const
{
    const auto after =
        std::ranges::upper_bound(holes, time, {}, &std::pair<std::int64_t, std::int64_t>::first);
    if (after == holes.begin() || time >= (after - 1)->second)
        return {};
    return *(after - 1);
}

std::pair<std::int64_t, std::int64_t> Timeline::interesting() const
{
    if (steps.empty())
        return {0, std::max<std::int64_t>(length, 1)};
    const std::int64_t from = std::ranges::min(steps, {}, &TimelineStep::start).start;
    const std::int64_t to = std::ranges::max(steps, {}, &TimelineStep::end).end;
    const std::int64_t margin = std::max<std::int64_t>((to - from) / 50, 1);
    return {std::max<std::int64_t>(from - margin, 0),
            std::min(to + margin, std::max<std::int64_t>(length, 1))};
}

std::vector<TimelineStep> Timeline::stepsOf(ProcessIndex process) const
{
    std::vector<TimelineStep> own;
    std::ranges::copy_if(steps, std::back_inserter(own),
                         [process](const TimelineStep& step) { return step.process == process; });
    return own.empty() ? firstSteps() : own;
}

std::vector<TimelineStep> Timeline::firstSteps() const
{
    for (const auto& [process, title] : processes)
        if (std::ranges::find(steps, process, &TimelineStep::process) != steps.end())
            return stepsOf(process);
    return steps;
}

std::string Timeline::titleOf(const TimelineStep& step) const
{
    const auto process =
        std::ranges::find(processes, step.process, [](const auto& each) { return each.first; });
    return (process == processes.end() ? "" : process->second + " ") + "step " + std::to_string(step.step);
}

std::vector<TimelineItem> Timeline::openAt(Lane::Kind kind, ThreadId thread, std::int64_t time) const
{
    std::vector<TimelineItem> open;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
        if (lanes[l].kind != kind || lanes[l].thread != thread || lanes[l].isOfPauses)
            continue;
        for (std::size_t r = 0; r < lanes[l].rows.size(); ++r) {
            const auto [first, last] = lanes[l].rows[r].overlapping(time, time + 1);
            if (first < last)
                open.push_back({l, r, last - 1});
        }
    }
    return open;
}

std::optional<std::size_t> Timeline::hit(const Track& row, std::int64_t time, std::int64_t slack) const
{
    const auto [first, last] = row.overlapping(time, time + 1);
    if (first < last)
        return last - 1;
    std::optional<std::size_t> nearest;
    std::int64_t distance = slack + 1;
    if (first > 0 && time - row.end(first - 1) < distance) {
        nearest = first - 1;
        distance = time - row.end(first - 1);
    }
    if (first < row.size() && row.start(first) - time < distance)
        nearest = first;
    return nearest;
}

std::size_t Timeline::memory() const
{
    std::size_t total = 0;
    for (const Lane& lane : lanes) {
        for (const Track& row : lane.rows)
            total += row.memory();
        total += lane.allocated.memory() + lane.reserved.memory() + lane.values.memory();
    }
    return total;
}

} // namespace tilescope::query
