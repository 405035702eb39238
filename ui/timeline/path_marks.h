#pragma once

#include "ui/timeline/timeline_scene.h"

class QPainter;

namespace tilescope::ui {

/// Draws the scene's critical path: a thick line along each box that is on it, joined by thin ones where it goes on in
/// another row. Parts in hidden lanes are passed over. GUI thread.
void paintPath(QPainter& painter, const TimelineScene& scene, int width, int height);

} // namespace tilescope::ui
