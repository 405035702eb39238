#include "ui/memory/step_points.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

// Index of the first change after `time`.
std::size_t firstAfter(const query::StepCurve& curve, double time)
{
    std::size_t low = 0;
    for (std::size_t count = curve.size(); count > 0;) {
        const std::size_t half = count / 2;
        if (double(curve.time(low + half)) <= time) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

} // namespace

std::vector<StepPoint> stepPoints(const query::StepCurve& curve, std::int64_t end, const TimeWindow& window,
                                  int pixels)
{
    std::vector<StepPoint> points;
    if (curve.empty() || pixels <= 0)
        return points;
    const double from = std::max(window.from, double(curve.time(0)));
    const double to = std::min(window.to, double(std::max(end, curve.time(curve.size() - 1))));
    if (from > to)
        return points;
    const std::size_t first = firstAfter(curve, from);
    const std::size_t last = firstAfter(curve, to);
    // The value at `from` is that of the change before it.
    points.push_back({from, double(curve.value(first == 0 ? 0 : first - 1))});
    if (last - first <= 2 * std::size_t(pixels)) {
        for (std::size_t i = first; i < last; ++i)
            points.push_back({double(curve.time(i)), double(curve.value(i))});
    } else {
        const double perPixel = window.length() / pixels;
        std::vector<query::CurveColumn> columns(
            std::size_t(std::max(1.0, std::ceil((to - from) / perPixel))));
        curve.columns(from, perPixel, columns);
        double carried = points.front().value;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const double at = from + double(i) * perPixel;
            const query::CurveColumn& column = columns[i];
            for (const std::int64_t value : {column.high, column.low, column.last}) {
                if (double(value) == carried)
                    continue;
                points.push_back({at, double(value)});
                carried = double(value);
            }
        }
    }
    points.push_back({to, points.back().value});
    return points;
}

} // namespace tilescope::ui
