#pragma once

#include "ui/timeline/timeline_view.h"

#include <filesystem>

namespace tilescope::bench {

/// Writes five frames of the view from the whole run to close by, as PNG, and pictures.json: what each lane's
/// draw list covers in them, in nanoseconds, and in which columns the picture has something other than
/// ground.
void writePictures(ui::TimelineView& view, const std::filesystem::path& folder);

} // namespace tilescope::bench
