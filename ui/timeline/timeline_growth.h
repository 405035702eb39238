#pragma once

#include "ui/timeline/timeline_scene.h"

#include <memory>
#include <vector>

namespace tilescope::ui {

/// Puts more of the same runs in the place of what a scene shows, one timeline a section: lanes stay as they
/// were folded and ordered, new ones come behind those they follow, and what is selected or found stays so
/// where it is still there. The window stays on what it shows; one that showed all goes on showing all.
void growScene(TimelineScene& scene, const std::vector<std::shared_ptr<const query::Timeline>>& timelines);

} // namespace tilescope::ui
