#include "core/analysis/stats/statistics.h"

#include "core/analysis/stats/effective_number.h"
#include "core/base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tilescope::analysis {

namespace {

constexpr double kCoverage = 0.95;

/// The probability of at most `most` heads in `n` tosses of a coin.
double tailOfCoins(std::int64_t n, std::int64_t most)
{
    const auto tosses = static_cast<double>(n);
    const auto logChoose = [tosses](double heads) {
        return std::lgamma(tosses + 1) - std::lgamma(heads + 1) - std::lgamma(tosses - heads + 1);
    };
    double term = std::exp(logChoose(static_cast<double>(most)) - tosses * std::log(2.0));
    double sum = 0;
    // Starts with the largest term; omitted terms are below double precision.
    for (std::int64_t heads = most; heads >= 0 && term > 1e-18; --heads) {
        sum += term;
        term *= static_cast<double>(heads) / static_cast<double>(n - heads + 1);
    }
    return sum;
}

/// The probability that the median lies between the `rank`-th smallest and the `rank`-th largest of n values.
double coverageOf(std::int64_t n, std::int64_t rank)
{
    return 1 - 2 * tailOfCoins(n, rank - 1);
}

/// The largest rank whose interval contains the median with probability 95 %; n >= kFewestForInterval.
std::int64_t rankOf(std::int64_t n)
{
    std::int64_t covers = 1;
    std::int64_t tooNarrow = n / 2 + 1;
    while (tooNarrow - covers > 1) {
        const std::int64_t middle = (covers + tooNarrow) / 2;
        (coverageOf(n, middle) >= kCoverage ? covers : tooNarrow) = middle;
    }
    return covers;
}

/// The position of the interval's low end among n sorted values, from 1, between two of them.
double lowPosition(std::int64_t n)
{
    const std::int64_t rank = rankOf(n);
    const double wide = coverageOf(n, rank);
    const double narrow = coverageOf(n, rank + 1);
    const double excess = (wide - kCoverage) / (wide - narrow);
    // Weight of the inner order statistics after Hettmansperger and Sheather.
    const double inner = static_cast<double>(n - rank) * excess /
                         (static_cast<double>(rank) + static_cast<double>(n - 2 * rank) * excess);
    return static_cast<double>(rank) + inner;
}

/// The share of values below the interval's low end; n independent values, not always a whole number.
double lowShare(double n)
{
    const auto below = static_cast<std::int64_t>(n);
    const auto shareOf = [](std::int64_t whole) {
        return lowPosition(whole) / static_cast<double>(whole + 1);
    };
    const double rest = n - static_cast<double>(below);
    return rest > 0 ? std::lerp(shareOf(below), shareOf(below + 1), rest) : shareOf(below);
}

ConfidenceInterval medianInterval(std::span<const double> sorted, double effective)
{
    const auto n = static_cast<double>(sorted.size());
    const double offset = std::clamp(lowShare(effective) * (n + 1) - 1, 0.0, (n - 1) / 2);
    return {quantile(sorted, offset / (n - 1)), quantile(sorted, 1 - offset / (n - 1))};
}

} // namespace

double quantile(std::span<const double> sorted, double fraction)
{
    const double position = fraction * static_cast<double>(sorted.size() - 1);
    const auto lower = static_cast<std::size_t>(position);
    const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
    return std::lerp(sorted[lower], sorted[upper], position - static_cast<double>(lower));
}

double meanOf(std::span<const double> values)
{
    return values.empty()
               ? 0
               : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::span<const double> values)
{
    std::vector<double> copy(values.begin(), values.end());
    const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
    std::nth_element(copy.begin(), middle, copy.end());
    if (copy.size() % 2 == 1)
        return *middle;
    return (*std::max_element(copy.begin(), middle) + *middle) / 2;
}

std::optional<Statistics> summarise(std::span<const double> values)
{
    if (values.empty())
        return {};
    if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
        throw Error{.what = "a measured value is not a finite number", .kind = ErrorKind::Failure};
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());

    Statistics statistics;
    statistics.n = static_cast<std::int64_t>(sorted.size());
    statistics.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
    statistics.median = quantile(sorted, 0.5);
    statistics.min = sorted.front();
    statistics.max = sorted.back();
    statistics.p95 = quantile(sorted, 0.95);
    if (sorted.size() > 1) {
        const double mean = statistics.mean;
        const double squares =
            std::accumulate(sorted.begin(), sorted.end(), 0.0, [mean](double sum, double value) {
                return sum + (value - mean) * (value - mean);
            });
        statistics.standardDeviation = std::sqrt(squares / static_cast<double>(sorted.size() - 1));
    }
    statistics.effective = effectiveNumber(values);
    if (statistics.n >= kFewestForInterval && statistics.effective >= kFewestForInterval) {
        statistics.ci95 = medianInterval(sorted, statistics.effective);
        statistics.assumesIndependence = values.size() < kFewestForCorrelation;
    }
    return statistics;
}

} // namespace tilescope::analysis
