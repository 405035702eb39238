#pragma once

#include "core/store/tracks/totals.h"

namespace tilescope::store {

class StoredRows;

/// All three lists are empty where the file has no totals of the run. Within a use of `rows`.
/// \throws Error  where they are not as they were written
RunTotals readTotals(StoredRows& rows, RunId run);

} // namespace tilescope::store
