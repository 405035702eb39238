#pragma once

#include "core/query/timeline/step_curve.h"
#include "ui/kit/time_axis.h"

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// A corner of a step line: the value that holds from `time` on.
struct StepPoint {
    double time = 0; ///< nanoseconds on the curve's own axis
    double value = 0;

    bool operator==(const StepPoint&) const = default;
};

/// The corners that draw a curve over a window `pixels` wide. Every change where there are few; else at most
/// three per pixel, among them each pixel's least and greatest value, so that no peak is lost.
/// \param end  how long the last value holds; nothing is drawn before the first change or after it
/// O(pixels log n).
std::vector<StepPoint> stepPoints(const query::StepCurve& curve, std::int64_t end, const TimeWindow& window,
                                  int pixels);

} // namespace tilescope::ui
