#pragma once

#include "core/query/timeline/timeline.h"
#include "ui/timeline/lane_painter.h"

#include <QString>

#include <optional>

namespace tilescope::ui {

/// Whether a lane is a curve instead of rows of boxes: memory or a counter.
bool isCurve(const query::Lane& lane);

/// The curve of such a lane; null for other lanes, and for a curve without a value.
const query::StepCurve* curveOf(const query::Lane& lane);

/// The end of the last value of the lane's curve.
/// \pre  curveOf(lane)
std::int64_t curveEnd(const query::Lane& lane);

/// The value of a curve at a time of its timeline; none outside the curve.
std::optional<double> curveValueAt(const query::Lane& lane, double time);

/// A value of the lane's curve, as in its StepCurve, with unit: 4.10 GiB, 1.98 GHz.
QString curveText(const query::Lane& lane, double value);

/// Colours of the area under a curve and of its edge.
std::pair<QColor, QColor> curveColours(const query::Lane& lane);

} // namespace tilescope::ui
