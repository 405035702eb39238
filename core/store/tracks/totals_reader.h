#pragma once

#include "core/store/tracks/totals.h"

namespace tilescope::store {

class StoredRows;

/// All three lists are empty if the file has no totals of the run. Within a use of `rows`.
/// \throws Error  they are damaged
RunTotals readTotals(StoredRows& rows, RunId run);
/// Its `steps` alone.
std::vector<StepTotal> readStepTotals(StoredRows& rows, RunId run);

} // namespace tilescope::store
