#pragma once

#include "core/query/file_session.h"
#include "ui/kit/workspace.h"
#include "ui/memory/memory_rows.h"

#include <optional>
#include <vector>

namespace tilescope::ui {

/// The curves of long runs, without blocks; stops at the first run that is short. Any thread.
/// \param device  of runs that have it; none, and of the others: the one with the highest peak
std::vector<MemoryRun> readMemoryOutlines(const std::vector<SelectedRun>& runs,
                                          std::optional<DeviceIndex> device,
                                          const query::Cancelled& cancelled);

/// The first run with its blocks, the others with their curves; runs without events are left out. Empty if
/// cancelled. Any thread.
std::vector<MemoryRun> readMemoryRuns(const std::vector<SelectedRun>& runs, std::optional<DeviceIndex> device,
                                      const query::Cancelled& cancelled);

} // namespace tilescope::ui
