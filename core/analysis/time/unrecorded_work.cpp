#include "core/analysis/time/unrecorded_work.h"

#include <algorithm>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr Nanoseconds kLongestLaunch{1'000'000};
constexpr Nanoseconds kLongCall{100'000}; ///< shorter ones return almost at once

} // namespace

void UnrecordedWork::addCall(ApiKind kind, Interval time)
{
    hasLaunches_ = hasLaunches_ || kind == ApiKind::Launch;
    if ((kind != ApiKind::Launch && kind != ApiKind::Memory) || time.length() < kLongCall)
        return;
    Timestamp& end = longCalls_.try_emplace(time.start.time_since_epoch().count(), time.end).first->second;
    end = std::max(end, time.end);
}

void UnrecordedWork::addActivity(const DeviceEvent& event)
{
    if (!stretches_.empty()) {
        Stretch& last = stretches_.back();
        if (event.start >= last.time.start && event.start < last.time.end + kLongestLaunch) {
            last.time.end = std::max(last.time.end, event.end);
            return;
        }
    }
    stretches_.push_back({{event.start, event.end}, event.launched});
}

std::vector<Interval> UnrecordedWork::times() const
{
    if (!hasLaunches_)
        return {};
    std::vector<Stretch> sorted = stretches_;
    std::ranges::sort(sorted, {},
                      [](const Stretch& each) { return std::pair(each.time.start, each.launched); });
    std::vector<Interval> times;
    Timestamp ranUntil = Timestamp::min();
    for (const Stretch& each : sorted) {
        if (each.launched != Timestamp{}) {
            const auto call = longCalls_.find(each.launched.time_since_epoch().count());
            const Timestamp returned = call == longCalls_.end() ? each.launched : call->second;
            const Interval open{std::max(ranUntil, returned), each.time.start};
            if (open.end - open.start >= kLongestLaunch)
                times.push_back(open);
        }
        ranUntil = std::max(ranUntil, each.time.end);
    }
    return times;
}

} // namespace tilescope::analysis
