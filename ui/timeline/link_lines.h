#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QPointF>
#include <QPolygonF>

#include <vector>

namespace tilescope::ui {

/// An arrow of a timeline, in pixels of the view.
struct LinkLine {
    QPointF from;
    QPointF to;
    SceneLink::Kind kind = SceneLink::Kind::Launch;

    bool operator==(const LinkLine&) const = default;
};

/// The draw list of visible arrows, those of collectives excluded, from the edge of one box to the facing edge of the other. Coinciding
/// arrows are merged; a link to a hidden lane has none. O(links * lanes).
std::vector<LinkLine> linkLines(const std::vector<SceneLink>& links, const TimelineScene& scene, int width,
                                int height);

/// The bands that join the boxes of one collective, from each to the next one below: the left edge is when the ranks
/// started, the right edge when they ended. Boxes in hidden lanes are passed over. In pixels of the view.
std::vector<QPolygonF> collectiveBands(const std::vector<SceneLink>& links, const TimelineScene& scene,
                                       int width, int height);

} // namespace tilescope::ui
