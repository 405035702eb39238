#include "core/analysis/waiting/host_lead.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tilescope::analysis {

namespace {

/// The time of disjoint intervals, in order, within [start, end).
Nanoseconds timeWithin(const std::vector<Interval>& intervals, Timestamp start, Timestamp end)
{
    Nanoseconds time{0};
    auto at = std::ranges::lower_bound(intervals, start, {}, &Interval::end);
    for (; at != intervals.end() && at->start < end; ++at)
        time += std::max(Nanoseconds{0}, std::min(end, at->end) - std::max(start, at->start));
    return time;
}

} // namespace

HostLead hostLead(std::span<const LaunchedWork> work, std::span<const CudaCall> waits,
                  std::span<const Interval> windows)
{
    const Interval whole{Timestamp::min(), Timestamp::max()};
    if (windows.empty())
        windows = {&whole, 1};
    HostLead found;
    std::map<ThreadId, std::vector<Timestamp>> launches;
    for (const LaunchedWork& each : work) {
        const auto window = std::ranges::upper_bound(windows, each.start, {}, &Interval::end);
        if (!each.launched || window == windows.end() || each.start < window->start)
            continue;
        ++found.launches;
        found.lead += each.start - *each.launched;
        launches[each.thread].push_back(*each.launched);
    }
    std::map<ThreadId, std::vector<Interval>> waitsOf;
    for (const CudaCall& wait : waits)
        waitsOf[wait.thread].push_back({wait.start, wait.end});
    for (auto& [thread, own] : waitsOf)
        own = unionOf(std::move(own));
    for (auto& [thread, times] : launches)
        std::ranges::sort(times);
    for (const Interval& window : windows) {
        Nanoseconds most{0};
        for (const auto& [thread, times] : launches) {
            const auto first = std::ranges::lower_bound(times, window.start);
            const auto last = std::ranges::lower_bound(times, window.end);
            if (first == last)
                continue;
            const Timestamp end = *(last - 1);
            most = std::max(most, end - *first - timeWithin(waitsOf[thread], *first, end));
        }
        found.work += most;
    }
    return found;
}

} // namespace tilescope::analysis
