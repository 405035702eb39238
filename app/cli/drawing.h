#pragma once

#include "core/report/document.h"
#include "core/report/writers.h"

#include <filesystem>

namespace tilescope::cli {

/// Lets tilescope-gui draw the figures of a document, without a display, into `folder`: recipe, PDF, SVG,
/// PNG, caption and values of each. Adds to each figure what was drawn. If tilescope-gui is missing or a figure fails, the
/// result contains the reason and the remaining figures.
/// \throws Error  the folder cannot be written
report::Drawings drawFigures(report::Document& document, const std::filesystem::path& folder);

} // namespace tilescope::cli
