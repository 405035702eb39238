#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QPolygonF>
#include <QString>

#include <functional>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// A trapezoid that joins a range of the run above with the same range of the run below.
struct DifferenceShape {
    QPolygonF outline; ///< upper left, upper right, lower right, lower left
    query::Hue hue = query::Hue::Range;
    QString text;   ///< name and signed difference; empty if it does not fit
    QPointF centre; ///< of the text, which is entirely within the area
};

/// The shapes between two runs: the phases, and the ranges of attention that are wide enough. Plain values;
/// the cost follows the ranges in the window.
/// \param xOf  from the shared axis to pixels
std::vector<DifferenceShape> differenceShapes(const std::vector<RangePair>& pairs,
                                              const TimelineSection& above, const TimelineSection& below,
                                              const std::function<double(double)>& xOf, const QRectF& area,
                                              const std::function<double(const QString&)>& widthOf);

/// Draws the band between two runs.
/// \param area  the band, over the whole width of the view
void paintDifference(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);

} // namespace tilescope::ui
