#pragma once

#include "core/base/ids.h"

#include <functional>
#include <string_view>

namespace tilescope::analysis {

/// Gives the text of a string id that the events carry: a file's (RunReader::text) or a process'
/// (StringTable::text). Analyses ask once per distinct id. The views must live as long as the call.
using TextOf = std::function<std::string_view(StringId)>;

} // namespace tilescope::analysis
