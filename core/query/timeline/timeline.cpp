#include "core/query/timeline/timeline.h"

#include <algorithm>

namespace tilescope::query {

std::size_t Lane::events() const
{
    std::size_t total = allocated.size();
    for (const Track& row : rows)
        total += row.size();
    return total;
}

std::pair<std::int64_t, std::int64_t> Timeline::interesting() const
{
    if (steps.empty())
        return {0, std::max<std::int64_t>(length, 1)};
    // The device may finish a step's kernels after the host closed its range.
    const std::int64_t from = steps.front().start;
    const std::int64_t to = steps.back().end;
    const std::int64_t margin = std::max<std::int64_t>((to - from) / 50, 1);
    return {std::max<std::int64_t>(from - margin, 0),
            std::min(to + margin, std::max<std::int64_t>(length, 1))};
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
        total += lane.allocated.memory() + lane.reserved.memory();
    }
    return total;
}

} // namespace tilescope::query
