#pragma once

#include "ui/kit/table_delegate.h"
#include "ui/timeline/timeline_scene.h"

class QPainter;

namespace tilescope::ui {

class TextCache;

// The frame of a timeline's lanes. `area` is in the painter's coordinates: the whole width of the view at the
// height of the band. GUI thread.

/// The difference of a run's step, or of the range at which runs are aligned, from the first run's.
struct DifferenceWords {
    Toned toned;
    QString text; ///< "−47.1 ms, 3.61× traced"
};
/// \return  null if they do not differ, or there is nothing to compare
std::optional<DifferenceWords> differenceWords(const TimelineSection& first, const TimelineSection& section);

void paintRuler(QPainter& painter, const TimelineScene& scene, const QRect& area);
/// Title, step and idle shares of a run; while it is played, title and progress.
void paintRunHeader(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area);
/// The x position after a run's title in its header.
double headerWordsAt(const TimelineScene& scene, const TimelineSection& section, const QRect& area);
/// The number of a run's counters, and whether they are shown.
void paintCountersTitle(QPainter& painter, const TimelineScene& scene, const Band& band, const QRect& area,
                        TextCache& texts);
/// The cell of a lane in the column of labels.
/// \param range  of its curve
void paintLaneLabel(QPainter& painter, const TimelineScene& scene, const Band& band, const MemoryRange& range,
                    const QRect& area, TextCache& texts);
/// The mark and the words at the peak of a memory lane; nothing in other lanes.
void paintMemoryPeak(QPainter& painter, const TimelineScene& scene, const Band& band,
                     const MemoryRange& memory, const QRect& area);

} // namespace tilescope::ui
