#pragma once

#include "core/store/tracks/call_totals.h"

#include <optional>

namespace tilescope::store {

class StoredRows;

/// None if the file has no totals of the run's calls. Within a use of `rows`.
/// \throws Error  they are damaged
std::optional<CallTotals> readCallTotals(StoredRows& rows, RunId run);

} // namespace tilescope::store
