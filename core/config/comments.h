#pragma once

#include "core/config/spec_document.h"

#include <string_view>

namespace tilescope::config {

/// Gives each comment of the text to what it stands above or behind in the document that was read from it.
/// \param fixedLine, sweepLine  where `fixed:` and `sweep:` stand; 0 where they do not
/// O(text + keys log keys).
void attachComments(SpecDocument& document, std::string_view yaml, int fixedLine, int sweepLine);

} // namespace tilescope::config
