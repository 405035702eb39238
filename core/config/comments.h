#pragma once

#include "core/config/spec_document.h"

#include <string_view>

namespace tilescope::config {

/// Attaches each comment of the text to the element of the document that it precedes or follows on its line.
/// \param fixedLine, sweepLine  lines of `fixed:` and `sweep:`; 0 if absent
/// O(text + keys log keys).
void attachComments(SpecDocument& document, std::string_view yaml, int fixedLine, int sweepLine);

} // namespace tilescope::config
