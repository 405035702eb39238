#include "core/analysis/compare/comparison.h"
#include "core/analysis/stats/random.h"
#include "core/analysis/stats/student_t.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kLongest = 10'000;
constexpr int kResamples = 1000;
constexpr double kAlpha = 0.05;

/// Autocovariances R(0) to R(most) about the mean.
std::vector<double> autocovariances(std::span<const double> series, std::size_t most)
{
    const auto n = static_cast<double>(series.size());
    const double mean = std::accumulate(series.begin(), series.end(), 0.0) / n;
    std::vector<double> result;
    for (std::size_t lag = 0; lag <= most; ++lag) {
        double sum = 0;
        for (std::size_t i = 0; i + lag < series.size(); ++i)
            sum += (series[i] - mean) * (series[i + lag] - mean);
        result.push_back(sum / n);
    }
    return result;
}

/// The lag after which `run` consecutive correlations are within noise.
std::size_t lastCorrelatedLag(const std::vector<double>& covariances, std::size_t run, double noise)
{
    const std::size_t most = covariances.size() - 1;
    std::size_t quiet = 0;
    for (std::size_t lag = 1; lag <= most; ++lag) {
        quiet = std::abs(covariances[lag]) < noise * covariances[0] ? quiet + 1 : 0;
        if (quiet == run)
            return lag - run;
    }
    return most;
}

/// Medians of neighbours, so that the series has at most kLongest values.
std::vector<double> mediansOfGroups(std::span<const double> series)
{
    const std::size_t group = (series.size() + kLongest - 1) / kLongest;
    if (group <= 1)
        return {series.begin(), series.end()};
    std::vector<double> medians;
    for (std::size_t i = 0; i < series.size(); i += group)
        medians.push_back(median(series.subspan(i, std::min(group, series.size() - i))));
    return medians;
}

/// The sign of each value relative to the median: -1, 0 or 1.
std::vector<double> sidesOf(std::span<const double> series)
{
    const double middle = median(series);
    std::vector<double> sides;
    for (const double value : series)
        sides.push_back(static_cast<double>((value > middle) - (value < middle)));
    return sides;
}

/// Medians of circular block resamples.
std::vector<double> resampledMedians(std::span<const double> series, std::size_t block, Random& random)
{
    std::vector<double> medians;
    std::vector<double> resample(series.size());
    for (int r = 0; r < kResamples; ++r) {
        for (std::size_t filled = 0; filled < resample.size();) {
            std::size_t from = random.below(series.size());
            for (std::size_t i = 0; i < block && filled < resample.size(); ++i) {
                resample[filled++] = series[from];
                from = from + 1 == series.size() ? 0 : from + 1;
            }
        }
        medians.push_back(median(resample));
    }
    return medians;
}

double deviation(std::span<const double> values)
{
    const auto n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / (n - 1));
}

struct ResampledSide {
    std::vector<double> series;
    double middle = 0;
    double blocks = 0;
    std::vector<double> medians;

    ResampledSide(std::span<const double> raw, Random& random)
        : series(mediansOfGroups(raw)), middle(median(raw))
    {
        // The error of a median depends on the number of values on each side, not on their distance.
        // Therefore the autocorrelation of the signs determines the block length, and spikes of a busy host
        // do not hide it. A short series cannot show its own autocorrelation; assume at least the cube root
        // of its length.
        const auto least = static_cast<std::size_t>(std::cbrt(static_cast<double>(series.size())));
        const std::size_t block = std::max(least, blockLength(sidesOf(series)));
        blocks = static_cast<double>(series.size()) / static_cast<double>(block);
        medians = resampledMedians(series, block, random);
    }
};

} // namespace

std::size_t blockLength(std::span<const double> series)
{
    const std::size_t n = series.size();
    if (n < 6)
        return 1;
    const double logN = std::log10(static_cast<double>(n));
    const auto run = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(logN))));
    const std::size_t most = std::min(n - 1, static_cast<std::size_t>(std::ceil(std::sqrt(n))) + run);
    const std::vector<double> covariances = autocovariances(series, most);
    if (covariances[0] <= 0)
        return 1;
    const double noise = 2 * std::sqrt(logN / static_cast<double>(n));
    const std::size_t window =
        std::min(most, 2 * std::max<std::size_t>(1, lastCorrelatedLag(covariances, run, noise)));
    double spectrum = covariances[0]; // spectral density of the series at frequency 0
    double slope = 0;
    for (std::size_t lag = 1; lag <= window; ++lag) {
        const double position = static_cast<double>(lag) / static_cast<double>(window);
        const double weight = position <= 0.5 ? 1 : 2 * (1 - position);
        spectrum += 2 * weight * covariances[lag];
        slope += 2 * weight * static_cast<double>(lag) * covariances[lag];
    }
    const double best =
        std::cbrt(2 * slope * slope / (4.0 / 3 * spectrum * spectrum)) * std::cbrt(static_cast<double>(n));
    const double longest = std::min(std::ceil(3 * std::sqrt(n)), static_cast<double>(n) / 3);
    if (!std::isfinite(best))
        return static_cast<std::size_t>(longest);
    return static_cast<std::size_t>(std::clamp(std::round(best), 1.0, std::floor(longest)));
}

std::optional<SeriesDifference> compareSeries(std::span<const double> a, std::span<const double> b,
                                              std::uint64_t seed)
{
    if (a.size() < 2 || b.size() < 2)
        return {};
    Random random(seed);
    const ResampledSide sideA(a, random);
    const ResampledSide sideB(b, random);
    std::vector<double> logRatios;
    for (std::size_t r = 0; r < sideA.medians.size(); ++r)
        logRatios.push_back(std::log(sideB.medians[r] / sideA.medians[r]));
    SeriesDifference result{.stepsA = static_cast<std::int64_t>(a.size()),
                            .stepsB = static_cast<std::int64_t>(b.size()),
                            .medianA = sideA.middle,
                            .medianB = sideB.middle,
                            .ratio = sideB.middle / sideA.middle};
    const double critical = studentCritical(kAlpha, std::max(1.0, sideA.blocks + sideB.blocks - 2));
    const double width = critical * deviation(logRatios);
    result.ratio95 = {result.ratio * std::exp(-width), result.ratio * std::exp(width)};
    return result;
}

} // namespace tilescope::analysis
