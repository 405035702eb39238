#pragma once

#include "ui/timeline/timeline_scene.h"

#include <memory>
#include <vector>

namespace tilescope::ui {

/// Replaces the timelines of a scene by longer ones of the same runs, one per section. Lanes keep their
/// order and folding, new lanes follow their predecessors, selected and found boxes stay, and so does the
/// window unless it showed everything.
void growScene(TimelineScene& scene, const std::vector<std::shared_ptr<const query::Timeline>>& timelines);

} // namespace tilescope::ui
