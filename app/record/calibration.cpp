#include "app/record/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tilescope::record {

Window::Change Calibration::stepEnded(std::int64_t time)
{
    const std::int64_t duration = time - std::exchange(last_, time);
    if (ratios_.size() >= kPairs)
        return Window::Change::None;
    ++steps_;
    if (!warm_) {
        warm_ = steps_ == kWarmUp;
        steps_ = warm_ ? 0 : steps_;
        return Window::Change::None;
    }
    if (steps_ > kSettling)
        durations_.push_back(duration);
    if (durations_.size() < kCounted)
        return Window::Change::None;
    std::ranges::nth_element(durations_, durations_.begin() + kCounted / 2);
    const auto median = static_cast<double>(durations_[kCounted / 2]);
    durations_.clear();
    steps_ = 0;
    if (on_)
        recorded_ = median;
    else if (recorded_ > 0 && median > 0)
        ratios_.push_back(recorded_ / median);
    on_ = !on_;
    return on_ ? Window::Change::Start : Window::Change::Stop;
}

std::optional<std::string> Calibration::text() const
{
    const auto count = static_cast<double>(ratios_.size());
    if (count < 2)
        return std::nullopt;
    double mean = 0;
    for (const double value : ratios_)
        mean += value / count;
    double variance = 0;
    for (const double value : ratios_)
        variance += (value - mean) * (value - mean) / (count - 1);
    // Student's quantile 0.975, within 3 % from two degrees of freedom on.
    const double freedom = count - 1;
    const double quantile = freedom < 2 ? 12.706 : 1.96 + 2.37 / freedom + 4.6 / (freedom * freedom);
    const double half = quantile * std::sqrt(variance / count);
    std::array<char, 160> text{};
    std::snprintf(
        text.data(), text.size(),
        "a recorded step takes %.3f times as long as a bare one (95 %% interval %.3f to %.3f, %d pairs of %d "
        "steps)",
        mean, mean - half, mean + half, static_cast<int>(count), kCounted);
    return text.data();
}

} // namespace tilescope::record
