#pragma once

#include "core/base/ids.h"
#include "core/exchange/import/trace_builder.h"

#include <filesystem>

namespace tilescope::exchange {

/// Finds the critical paths of the steps of a run that was imported, and stores what they spend their time on in its file, so that
/// later answers read no events for it. Does nothing for a small run, or if the watch ends it.
/// \throws Error  the file cannot be read or written
void storePathTotals(const std::filesystem::path& file, RunId run, const ImportWatch& watch);

} // namespace tilescope::exchange
