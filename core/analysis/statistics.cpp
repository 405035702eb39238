#include "core/analysis/statistics.h"

#include "core/analysis/random.h"
#include "core/base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tilescope::analysis {

namespace {

constexpr int kResamples = 1000;
constexpr std::uint64_t kSeed = 0x7469'6c65'7363'6f70; // any constant will do; it must only stay the same

/// A uniform in (0, 1) as an index into n values.
std::size_t indexOf(double uniform, std::size_t n)
{
    return std::min(n - 1, static_cast<std::size_t>(uniform * static_cast<double>(n)));
}

/// The median of one resample with replacement, without drawing it: resampling n values is rounding down n
/// uniforms times n, and the median needs only the middle order statistics of those uniforms, which have
/// closed distributions.
double resampledMedian(std::span<const double> sorted, Random& random)
{
    const std::size_t n = sorted.size();
    const std::size_t middle = (n + 1) / 2; // rank from 1 of the (lower) middle
    const double below = random.gamma(static_cast<double>(middle));
    const double above = random.gamma(static_cast<double>(n - middle + 1));
    const double lower = below / (below + above); // Beta(middle, n - middle + 1)
    if (n % 2 == 1)
        return sorted[indexOf(lower, n)];
    // Given the lower middle, the n - middle uniforms above it are uniform on (lower, 1): the next is their
    // minimum.
    const double remaining = static_cast<double>(n - middle);
    const double upper = lower + (1 - lower) * (1 - std::pow(random.uniform(), 1 / remaining));
    return (sorted[indexOf(lower, n)] + sorted[indexOf(upper, n)]) / 2;
}

ConfidenceInterval medianInterval(std::span<const double> sorted)
{
    Random random(kSeed);
    std::vector<double> medians(kResamples);
    for (double& resample : medians)
        resample = resampledMedian(sorted, random);
    std::sort(medians.begin(), medians.end());
    return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

} // namespace

double quantile(std::span<const double> sorted, double fraction)
{
    const double position = fraction * static_cast<double>(sorted.size() - 1);
    const auto lower = static_cast<std::size_t>(position);
    const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
    return std::lerp(sorted[lower], sorted[upper], position - static_cast<double>(lower));
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
        statistics.ci95 = medianInterval(sorted);
    }
    return statistics;
}

} // namespace tilescope::analysis
