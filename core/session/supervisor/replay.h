#pragma once

#include "core/model/replay.h"

#include <filesystem>
#include <optional>
#include <stop_token>

namespace tilescope::session {

/// Starts an engine that measures one op alone. Blocks for some seconds; one thread.
/// \param scratch  a file that the engine may write; it stays without runs
/// \return  none if it was stopped
/// \throws Error (Environment)  the engine cannot be started, or the machine has no such device
/// \throws Error                the op refuses the arguments, or the engine failed
std::optional<ReplayResult> replayOp(const ReplayRequest& request, const std::filesystem::path& scratch,
                                     std::stop_token stop);

} // namespace tilescope::session
