#pragma once

#include "ui/timeline/timeline_scene.h"

#include <memory>
#include <vector>

namespace tilescope::ui {

/// Replaces the timelines of a scene with longer timelines of the same runs.
/// \param grown  one per section of the scene, with new lanes as they are to be shown
///
/// Lanes keep their order and folding, new lanes follow their predecessors, selected and found boxes stay, and so does the
/// window unless it showed everything.
void growScene(TimelineScene& scene, const std::vector<TimelineSection>& grown);

} // namespace tilescope::ui
