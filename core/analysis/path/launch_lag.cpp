#include "core/analysis/path/launch_lag.h"

#include <algorithm>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr Nanoseconds kLaterByMoreThan{
    1'000}; ///< a kernel that follows so much later waited for something else

Nanoseconds lowQuantile(std::vector<Nanoseconds> values, std::ptrdiff_t part)
{
    const auto quantile = values.begin() + std::ssize(values) / part;
    std::ranges::nth_element(values, quantile);
    return *quantile;
}

} // namespace

void LaunchLag::add(ProcessIndex process, const DeviceEvent& event)
{
    // Copies wait for the host as well, and before the first activity the device may have been busy.
    const auto [ranUntil, isFirst] = ranUntil_.try_emplace(process, event.end);
    const bool isKnown = event.kind == DeviceEventKind::Kernel && event.launched != Timestamp{} &&
                         event.launched <= event.start;
    if (!isFirst && isKnown && ranUntil->second <= event.start)
        followers_.push_back({event.start - ranUntil->second, event.start - event.launched});
    ranUntil->second = std::max(ranUntil->second, event.end);
}

UsualLags LaunchLag::usual() const
{
    if (followers_.empty())
        return {};
    std::vector<Nanoseconds> gaps;
    for (const Follower& each : followers_)
        gaps.push_back(each.gap);
    UsualLags usual{.gap = lowQuantile(std::move(gaps), 20)};
    std::vector<Nanoseconds> lags;
    for (const Follower& each : followers_)
        if (each.gap >= each.lag || each.gap > *usual.gap + kLaterByMoreThan)
            lags.push_back(each.lag);
    if (!lags.empty())
        usual.launch = lowQuantile(std::move(lags), 4);
    return usual;
}

} // namespace tilescope::analysis
