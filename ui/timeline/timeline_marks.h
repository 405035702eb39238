#pragma once

#include "ui/timeline/timeline_scene.h"

#include <span>

class QPainter;

namespace tilescope::ui {

// Items drawn over or between the lanes of a timeline. Sizes are those of the view. GUI thread.

/// The iterations of prefill and decode as pale bands; below the grid and the bounds of steps. Parameters as of fillSteps().
void fillPhases(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio,
                bool inPinned);
/// The bounds of steps, in the section of the steps; below the boxes.
/// \param inPinned  whether to draw in pinned lanes or in the other lanes
void fillSteps(BoxTarget& target, const TimelineScene& scene, const QRect& plot, double ratio, bool inPinned);
/// The selected span, otherwise the selected range of each run.
/// \param names  of boxes; lines are interrupted there
void paintSpans(QPainter& painter, const TimelineScene& scene, int width, int height,
                std::span<const QRectF> names);
/// Rings, arrows and the frame of the selected box; none while runs are played.
void paintSelection(QPainter& painter, const TimelineScene& scene, int width, int height);
/// One line for each run that is played; dim once it has ended.
void paintPlayheads(QPainter& painter, const TimelineScene& scene, int width, int height);
/// Flags on the ruler, each with a line through the lanes of its run.
/// \param names  of boxes; lines are interrupted there
void paintNotes(QPainter& painter, const TimelineScene& scene, int width, int height,
                std::span<const QRectF> names);
/// Marks the position to which a dragged lane would move.
void paintLaneDrop(QPainter& painter, const TimelineScene& scene, int width, int height);

} // namespace tilescope::ui
