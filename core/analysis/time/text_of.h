#pragma once

#include "core/base/ids.h"

#include <functional>
#include <string_view>

namespace tilescope::analysis {

/// Returns the text of a string id in events, from a file (RunReader::text) or a process (StringTable::text).
/// Called once per distinct id. The views must outlive the call of the analysis.
using TextOf = std::function<std::string_view(StringId)>;

} // namespace tilescope::analysis
