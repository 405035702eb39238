#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QString>
#include <QStringList>

#include <optional>

class QPainter;

namespace tilescope::ui {

/// Lines about a box.
struct ItemWords {
    QString first;         ///< name and duration
    QString second;        ///< its kind; for a gap, what the GPU waits for
    QStringList more = {}; ///< further lines: what ran while a metric was measured
};
ItemWords wordsOf(const TimelineScene& scene, const SectionItem& item);

/// The value and the time of the curve at a point of the view; none where there is none.
std::optional<ItemWords> curveWordsAt(const TimelineScene& scene, QPoint point, const QSize& view);

/// Frames a box and draws its description on a card beside the cursor.
/// \param view  size of the view
void paintHoverCard(QPainter& painter, const TimelineScene& scene, const SectionItem& item, QPoint cursor,
                    const QSize& view);
/// Draws these texts on a card beside the cursor.
void paintCard(QPainter& painter, const ItemWords& words, QPoint cursor, const QSize& view);

} // namespace tilescope::ui
