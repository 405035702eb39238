#include "ui/kit/histogram.h"

#include "ui/kit/time_axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilescope::ui {

Histogram histogramOf(const std::vector<std::int64_t>& values, int bins)
{
    Histogram histogram;
    if (values.empty())
        return histogram;
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    // A bin is not narrower than 1; equal values are in the middle.
    const double missing = std::max(0.0, double(bins) - double(*greatest - *least));
    const double low = std::max(double(*least) - std::floor(missing / 2), std::min(0.0, double(*least)));
    const double high = double(*greatest) + std::ceil(missing / 2);
    const std::vector<double> steps = roundSteps(0, high - low, bins);
    histogram.width = steps.size() > 1 ? steps[1] - steps[0] : high - low;
    histogram.from = std::floor(low / histogram.width) * histogram.width;
    histogram.counts.assign(std::size_t(std::floor((high - histogram.from) / histogram.width)) + 1, 0);
    for (const std::int64_t value : values)
        ++histogram.counts[std::size_t((double(value) - histogram.from) / histogram.width)];
    return histogram;
}

Durations durationsOf(std::vector<std::int64_t> lengths)
{
    constexpr int kBins = 24;
    Durations durations;
    if (lengths.empty())
        return durations;
    durations.histogram = histogramOf(lengths, kBins);
    durations.mean =
        double(std::accumulate(lengths.begin(), lengths.end(), std::int64_t(0))) / double(lengths.size());
    const auto middle = lengths.begin() + std::ptrdiff_t(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    durations.median = double(*middle);
    if (lengths.size() % 2 == 0)
        durations.median = (durations.median + double(*std::max_element(lengths.begin(), middle))) / 2;
    return durations;
}

} // namespace tilescope::ui
