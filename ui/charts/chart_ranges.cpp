#include "ui/charts/chart_ranges.h"

#include <algorithm>
#include <limits>

namespace tilescope::ui {

namespace {

constexpr double kFarthestBar = 10; // down a logarithmic axis: longer bars end at the axis

} // namespace

std::optional<ChartRanges> rangesOf(const Chart& chart, const ChartRecipe& recipe)
{
    constexpr double kMost = std::numeric_limits<double>::max();
    double lowX = kMost;
    double highX = -kMost;
    double lowY = kMost;
    double highY = -kMost;
    const bool logX = recipe.scaleOfX() != ChartRecipe::Axis::Linear;
    const bool logY = recipe.yAxis != ChartRecipe::Axis::Linear;
    for (const ChartSeries& series : chart.series) {
        if (recipe.outOfMemory)
            for (const ChartPoint& point : series.outOfMemory) {
                lowX = std::min(lowX, point.x);
                highX = std::max(highX, point.x);
            }
        for (const ChartPoint& point : series.points) {
            lowX = std::min(lowX, point.x);
            highX = std::max(highX, point.x);
            const double low = std::min(point.y, point.low.value_or(point.y));
            lowY = std::min(lowY, !logY ? low : low > 0 ? std::max(low, point.y / kFarthestBar) : point.y);
            highY = std::max(highY, point.high.value_or(point.y));
        }
    }
    if (lowX > highX)
        return {};
    if (lowY > highY)
        lowY = highY = 1;
    ChartRanges ranges;
    if (!chart.words.isEmpty()) {
        ranges.xLow = -0.5;
        ranges.xHigh = double(chart.words.size()) - 0.5;
    } else if (logX && lowX > 0) {
        ranges.xLow = lowX / 1.25;
        ranges.xHigh = highX * 1.25;
    } else {
        ranges.xLow = lowX - 0.06 * (highX - lowX + 1e-9);
        ranges.xHigh = highX + 0.06 * (highX - lowX + 1e-9);
    }
    if (logY && lowY > 0) {
        ranges.yLow = lowY / 1.8;
        ranges.yHigh = highY * 2.2;
    } else {
        ranges.yLow = std::min(0.0, lowY);
        ranges.yHigh = 1.12 * highY;
    }
    return ranges;
}

} // namespace tilescope::ui
