#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QColor>
#include <QFont>
#include <QPointF>
#include <QString>

#include <vector>

class QPainter;

namespace tilescope::ui {

/// A text and its position.
struct PlacedText {
    QPointF at; ///< left end of the base line
    QFont font;
    QColor colour;
    QString text;

    bool operator==(const PlacedText&) const = default;
};

/// The texts in the header of a run during play: the part, the progress, and the current work or the end;
/// when all runs have ended, also the difference from the first run. Figures stay in place while they grow.
/// \param x     left edge of the texts
/// \param area  area of the header
/// \pre  scene.play
std::vector<PlacedText> playWords(const TimelineScene& scene, std::size_t section, double x,
                                  const QRect& area);

/// Draws them, if the scene has marks of Play.
void paintPlayWords(QPainter& painter, const TimelineScene& scene, std::size_t section, double x,
                    const QRect& area);

/// "3.21 of 20.1 ms".
QString playedText(double now, double end);

} // namespace tilescope::ui
