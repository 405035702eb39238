#include "core/analysis/time/busy_time.h"

#include <algorithm>

namespace tilescope::analysis {

std::vector<Interval> unionOf(std::vector<Interval> intervals)
{
    std::erase_if(intervals, [](const Interval& interval) { return interval.end <= interval.start; });
    // Events are mostly in order already: checking is cheaper than sorting.
    if (!std::ranges::is_sorted(intervals, {}, &Interval::start))
        std::ranges::sort(intervals, {}, &Interval::start);
    std::vector<Interval> merged;
    for (const Interval& interval : intervals) {
        if (!merged.empty() && interval.start <= merged.back().end)
            merged.back().end = std::max(merged.back().end, interval.end);
        else
            merged.push_back(interval);
    }
    return merged;
}

std::vector<Interval> complement(Interval inside, std::span<const Interval> covers)
{
    const std::vector<Interval> whole = unionOf({inside});
    return difference(whole, covers);
}

std::vector<Interval> intersection(std::span<const Interval> a, std::span<const Interval> b)
{
    std::vector<Interval> common;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Interval both{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
        if (both.start < both.end)
            common.push_back(both);
        if (a[i].end < b[j].end)
            ++i;
        else
            ++j;
    }
    return common;
}

std::vector<Interval> difference(std::span<const Interval> a, std::span<const Interval> b)
{
    std::vector<Interval> rest;
    std::size_t j = 0;
    for (Interval left : a) {
        while (j < b.size() && b[j].end <= left.start)
            ++j;
        for (std::size_t k = j; k < b.size() && b[k].start < left.end; ++k) {
            if (b[k].start > left.start)
                rest.push_back({left.start, b[k].start});
            left.start = std::min(left.end, b[k].end);
        }
        if (left.start < left.end)
            rest.push_back(left);
    }
    return rest;
}

Nanoseconds lengthOf(std::span<const Interval> intervals)
{
    Nanoseconds sum{0};
    for (const Interval& interval : intervals)
        sum += interval.length();
    return sum;
}

} // namespace tilescope::analysis
