#include "core/analysis/advice/small_kernels.h"

#include <algorithm>
#include <tuple>

namespace tilescope::analysis {

namespace {

bool isSmall(const StreamActivity& each)
{
    return each.isKernel && each.activity.time.length() < kSmallKernel;
}

bool follows(const StreamActivity& before, const StreamActivity& after)
{
    return before.device == after.device && before.stream == after.stream &&
           after.activity.time.start - before.activity.time.end < kSmallKernel;
}

} // namespace

Stake smallKernels(std::vector<StreamActivity> activities, std::span<const Interval> walls)
{
    std::ranges::sort(activities, {}, [](const StreamActivity& each) {
        return std::tuple(each.device, each.stream, each.activity.time.start, each.activity.time.end);
    });
    std::vector<GroupedTime> saved;
    std::vector<Interval> others;
    for (std::size_t first = 0; first < activities.size();) {
        std::size_t last = first; // last kernel of the series
        while (isSmall(activities[first]) && last + 1 < activities.size() && isSmall(activities[last + 1]) &&
               follows(activities[last], activities[last + 1]))
            ++last;
        const auto longest = std::max_element(activities.begin() + static_cast<std::ptrdiff_t>(first),
                                              activities.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                              [](const StreamActivity& a, const StreamActivity& b) {
                                                  return a.activity.time.length() < b.activity.time.length();
                                              });
        others.push_back(longest->activity.time);
        for (std::size_t i = first; last > first && i <= last; ++i) {
            GroupedTime each = activities[i].activity;
            if (i > first)
                each.time.start = std::min(each.time.start, activities[i - 1].activity.time.end);
            saved.push_back(each);
        }
        first = last + 1;
    }
    return stakeOf(std::move(saved), walls, unionOf(std::move(others)));
}

} // namespace tilescope::analysis
