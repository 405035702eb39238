#pragma once

#include "core/model/replay.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::session {

/// A request to measure one op alone, one line of JSON: {"replay": {"op", "device", "arguments", …}}.
std::string replayLine(const ReplayRequest& request); ///< without the line break
/// None if the line is another request.
/// \throws Error  a field is missing or invalid
std::optional<ReplayRequest> parseReplayLine(std::string_view line);

} // namespace tilescope::session
