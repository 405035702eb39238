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

/// The corners of a step curve in a window `pixels` wide. Every change if there are few; otherwise at most
/// three per pixel, including each pixel's minimum and maximum, so that no peak is lost.
/// \param end  end of the last value; nothing is drawn before the first change or after this
/// O(pixels log n).
std::vector<StepPoint> stepPoints(const query::StepCurve& curve, std::int64_t end, const TimeWindow& window,
                                  int pixels);

} // namespace tilescope::ui
