#pragma once

#include "core/report/document.h"
#include "core/report/writers.h"

#include <filesystem>

namespace tilescope::cli {

/// Has tilescope-gui draw the figures of a document, without a display, into `folder`: recipe, PDF, SVG, PNG,
/// caption and values of each. Where it is not installed or a figure fails, the drawings say why and the rest
/// goes on.
/// \throws Error  the folder cannot be written
report::Drawings drawFigures(const report::Document& document, const std::filesystem::path& folder);

} // namespace tilescope::cli
