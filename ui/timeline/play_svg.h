#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QByteArray>
#include <QSize>
#include <QString>

namespace tilescope::ui {

struct PlaySvg {
    QByteArray text;
    int elements = 0; ///< that are drawn
};

/// The play of a scene as an animated SVG (SMIL) that a browser repeats, with a pause at the end.
///
/// The lanes of a run are drawn once, by colour, and uncovered from left to right; only the words of its header change.
/// The number of elements therefore does not grow with the number of boxes or the duration. Programs that do not play
/// it show the end.
/// \param scene     all lanes from the top, without overview
/// \param slowdown  real nanoseconds for one that was recorded
PlaySvg playSvg(const TimelineScene& scene, const QSize& size, const PlayPart& part, double slowdown,
                const QString& title);

/// Seconds for which the end stays before an exported play repeats.
inline constexpr double kPlayRest = 2;

} // namespace tilescope::ui
