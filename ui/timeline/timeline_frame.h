#pragma once

#include "ui/timeline/timeline_scene.h"

class QPainter;

namespace tilescope::ui {

// The frame of a timeline's lanes. `area` is in the painter's coordinates: the whole width of the view at the
// height of the band. GUI thread.

void paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area);
/// Title, step and idle shares of a run.
void paintRunHeader(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
/// The cell of a lane in the column of labels.
/// \param range  of its curve
void paintLaneLabel(QPainter& painter, const TimelineScene& scene, const Band& band, const MemoryRange& range,
                    const QRect& area);
/// The mark and the words at the peak of a memory lane; nothing in other lanes.
void paintMemoryPeak(QPainter& painter, const TimelineScene& scene, const Band& band,
                     const MemoryRange& memory, const QRect& area);

} // namespace tilescope::ui
