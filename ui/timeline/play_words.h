#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QColor>
#include <QFont>
#include <QPointF>
#include <QString>

#include <vector>

class QPainter;

namespace tilescope::ui {

/// A text and where it is drawn.
struct PlacedText {
    QPointF at; ///< left end of the base line
    QFont font;
    QColor colour;
    QString text;

    bool operator==(const PlacedText&) const = default;
};

/// What the header of a run says while it is played: what is played, how far it is, and what runs now or that it has
/// ended; at the end of all also how the run differs from the first. Figures stay in place while they grow.
/// \param x     where the texts begin
/// \param area  of the header
/// \pre  scene.play
std::vector<PlacedText> playWords(const TimelineScene& scene, std::size_t section, double x,
                                  const QRect& area);

/// Draws them, if the scene has marks of Play.
void paintPlayWords(QPainter& painter, const TimelineScene& scene, std::size_t section, double x,
                    const QRect& area);

/// "3.21 of 20.1 ms".
QString playedText(double now, double end);

} // namespace tilescope::ui
