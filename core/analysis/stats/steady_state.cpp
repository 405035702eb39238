#include "core/analysis/stats/steady_state.h"

#include "core/analysis/stats/ranks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kFewest = 8;
constexpr std::size_t kMostForLevels = 2000;
constexpr std::size_t kMostForDrift = 500;
constexpr double kSameLevel = 0.01;
constexpr double kMadToDeviation = 1.4826;

/// Medians of `group` neighbours, so that the series has at most `most` values.
std::vector<double> shortened(std::span<const double> series, std::size_t most, std::size_t& group)
{
    group = (series.size() + most - 1) / most;
    if (group <= 1) {
        group = 1;
        return {series.begin(), series.end()};
    }
    std::vector<double> medians;
    for (std::size_t i = 0; i < series.size(); i += group)
        medians.push_back(median(series.subspan(i, std::min(group, series.size() - i))));
    return medians;
}

/// The scale of the noise from differences of values `lag` apart. Changes of level affect few of them.
double differenceScale(std::span<const double> x, std::size_t lag)
{
    std::vector<double> sizes;
    for (std::size_t i = lag; i < x.size(); ++i)
        sizes.push_back(std::abs(x[i] - x[i - lag]));
    return kMadToDeviation * median(sizes) / std::sqrt(2.0);
}

/// Replaces isolated outliers by the median of their six neighbours. The first value stays, because warm-up
/// shows there.
std::vector<double> withoutStretchedSteps(std::span<const double> x)
{
    constexpr std::size_t kReach = 3;
    constexpr double kFarOff = 3;
    std::vector<double> clean(x.begin(), x.end());
    const double scale = differenceScale(x, 1);
    for (std::size_t i = 1; i < x.size(); ++i) {
        const std::size_t begin = i < kReach ? 0 : i - kReach;
        const std::size_t end = std::min(x.size(), i + kReach + 1);
        const double middle = median(x.subspan(begin, end - begin));
        if (std::abs(x[i] - middle) > kFarOff * scale)
            clean[i] = middle;
    }
    return clean;
}

/// Variance of a mean of n values, times n: the noise including its autocorrelation. For noise with
/// autocorrelation phi, differences of values two apart vary 1 + phi times as much as those of neighbours.
double longRunVariance(std::span<const double> x)
{
    const double one = differenceScale(x, 1);
    const double two = differenceScale(x, 2);
    // Lower bound from the resolution of the clock, so that equal values form one level.
    constexpr double kLeast = 1e-12;
    if (one <= 0)
        return std::max(two * two, kLeast);
    // Short series estimate their autocorrelation poorly: add two standard errors.
    const double uncertain = 2 / std::sqrt(static_cast<double>(x.size()));
    const double phi = std::clamp((two * two) / (one * one) - 1 + uncertain, 0.0, 0.9);
    return std::max(one * one / (1 - phi) * (1 + phi) / (1 - phi), kLeast);
}

/// Prefix sums that yield the squared deviation of any interval from its mean in O(1).
class Deviations {
public:
    explicit Deviations(std::span<const double> x) : sum_(x.size() + 1), squares_(x.size() + 1)
    {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double centred = x[i] - x[0];
            sum_[i + 1] = sum_[i] + centred;
            squares_[i + 1] = squares_[i] + centred * centred;
        }
    }
    double of(std::size_t begin, std::size_t end) const
    {
        const double sum = sum_[end] - sum_[begin];
        return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
    }

private:
    std::vector<double> sum_;
    std::vector<double> squares_;
};

/// The ends of the segments with the least penalised cost: PELT.
std::vector<std::size_t> changePoints(std::span<const double> x, double variance)
{
    const std::size_t n = x.size();
    const Deviations deviations(x);
    const double penalty = 5 * std::log(static_cast<double>(n)) * variance;
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> previous(n + 1, 0);
    best[0] = -penalty;
    std::vector<std::size_t> candidates{0};
    for (std::size_t end = 1; end <= n; ++end) {
        for (const std::size_t begin : candidates) {
            const double cost = best[begin] + deviations.of(begin, end) + penalty;
            if (cost < best[end]) {
                best[end] = cost;
                previous[end] = begin;
            }
        }
        // Pruning: a candidate that cannot be optimal now never will be.
        std::erase_if(candidates,
                      [&](std::size_t begin) { return best[begin] + deviations.of(begin, end) > best[end]; });
        candidates.push_back(end);
    }
    std::vector<std::size_t> ends;
    for (std::size_t end = n; end > 0; end = previous[end])
        ends.push_back(end);
    std::reverse(ends.begin(), ends.end());
    return ends;
}

std::vector<double> logarithms(std::span<const double> times)
{
    std::vector<double> x;
    x.reserve(times.size());
    for (const double time : times)
        x.push_back(std::log(std::max(time, std::numeric_limits<double>::min())));
    return x;
}

/// The factor by which autocorrelation increases the variance of Kendall's S: equation 14 of Hamed and Rao,
/// over the lags up to the first uncorrelated one.
double memoryFactor(std::span<const double> residuals)
{
    const std::vector<double> ranks = ranksOf(residuals);
    const auto n = static_cast<double>(ranks.size());
    const double mean = (n + 1) / 2;
    const auto covariance = [&](std::size_t lag) {
        double sum = 0;
        for (std::size_t i = 0; i + lag < ranks.size(); ++i)
            sum += (ranks[i] - mean) * (ranks[i + lag] - mean);
        return sum;
    };
    const double whole = covariance(0);
    if (whole <= 0)
        return 1;
    double factor = 1;
    for (std::size_t lag = 1; lag <= ranks.size() / 4; ++lag) {
        const double seen = covariance(lag) / whole;
        // Fitting a line reduces the autocorrelation, more so for short series (Kendall, 1954).
        const double correlation = seen + (2 + 4 * seen) / n;
        if (correlation <= 0)
            break;
        const double left = n - static_cast<double>(lag);
        factor += 2 / (n * (n - 1) * (n - 2)) * left * (left - 1) * (left - 2) * correlation;
    }
    return std::max(1.0, factor);
}

} // namespace

SteadyState steadyState(std::span<const double> times)
{
    SteadyState state;
    if (times.empty())
        return state;
    std::size_t group = 1;
    const std::vector<double> x = logarithms(shortened(times, kMostForLevels, group));
    std::vector<std::size_t> ends{x.size()};
    if (x.size() >= kFewest) {
        const std::vector<double> clean = withoutStretchedSteps(x);
        ends = changePoints(clean, longRunVariance(clean));
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        const std::size_t last = std::min(end * group, times.size());
        state.levels.push_back({begin, last, median(times.subspan(begin, last - begin))});
        begin = last;
    }
    const double settled = state.levels.back().median;
    state.from = state.levels.back().begin;
    for (auto level = state.levels.rbegin();
         level != state.levels.rend() && std::abs(level->median - settled) <= kSameLevel * settled; ++level)
        state.from = level->begin;
    state.reached =
        times.size() < kFewest || times.size() - state.from >= std::max<std::size_t>(3, times.size() / 4);
    return state;
}

bool Drift::seen() const
{
    return (change999.low > 0 || change999.high < 0) && std::abs(change) >= kSameLevel;
}

std::optional<Drift> driftOf(std::span<const double> times)
{
    if (times.size() < kFewest)
        return {};
    std::size_t group = 1;
    const std::vector<double> y = shortened(times, kMostForDrift, group);
    const auto n = static_cast<double>(y.size());
    if (y.size() < kFewest)
        return {};
    std::vector<double> slopes;
    slopes.reserve(y.size() * (y.size() - 1) / 2);
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::size_t j = i + 1; j < y.size(); ++j)
            slopes.push_back((y[j] - y[i]) / static_cast<double>(j - i));
    std::sort(slopes.begin(), slopes.end());
    const double slope = quantile(slopes, 0.5);
    std::vector<double> residuals;
    for (std::size_t i = 0; i < y.size(); ++i)
        residuals.push_back(y[i] - slope * static_cast<double>(i));
    constexpr double kNormal999 = 3.2905;
    const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18 * memoryFactor(residuals));
    const double half = kNormal999 * deviation / 2 / static_cast<double>(slopes.size());
    const double scale = (n - 1) / median(y);
    return Drift{slope * scale,
                 {quantile(slopes, std::max(0.0, 0.5 - half)) * scale,
                  quantile(slopes, std::min(1.0, 0.5 + half)) * scale}};
}

} // namespace tilescope::analysis
