#include "core/analysis/time/busy_time.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

/// Events are mostly in order already, or some kinds one after the other: merging these is cheaper than sorting.
void sortByStart(std::vector<Interval>& intervals)
{
    constexpr int kFewStretches = 4;
    auto sorted = std::ranges::is_sorted_until(intervals, {}, &Interval::start);
    for (int stretch = 1; sorted != intervals.end(); ++stretch) {
        if (stretch == kFewStretches) {
            std::ranges::sort(intervals, {}, &Interval::start);
            return;
        }
        const auto end = std::is_sorted_until(
            sorted, intervals.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
        std::ranges::inplace_merge(intervals.begin(), sorted, end, {}, &Interval::start);
        sorted = end;
    }
}

} // namespace

std::vector<Interval> unionOf(std::vector<Interval> intervals)
{
    std::erase_if(intervals, [](const Interval& interval) { return interval.end <= interval.start; });
    sortByStart(intervals);
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
