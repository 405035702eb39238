#include "ui/plots/histogram.h"

#include "ui/plots/time_axis.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

Histogram histogramOf(const std::vector<std::int64_t>& values, int bins)
{
    Histogram histogram;
    if (values.empty())
        return histogram;
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const auto low = double(*least);
    const double high = std::max(double(*greatest), low + 1);
    const std::vector<double> steps = roundSteps(0, high - low, bins);
    histogram.width = steps.size() > 1 ? steps[1] - steps[0] : high - low;
    histogram.from = std::floor(low / histogram.width) * histogram.width;
    histogram.counts.assign(std::size_t(std::floor((high - histogram.from) / histogram.width)) + 1, 0);
    for (const std::int64_t value : values)
        ++histogram.counts[std::size_t((double(value) - histogram.from) / histogram.width)];
    return histogram;
}

} // namespace tilescope::ui
