#pragma once

#include "core/base/ids.h"
#include "core/store/tracks/path_totals.h"

#include <vector>

namespace tilescope::store {

class StoredRows;

/// In the order in which they were written; those of other rules than analysis::kPathRules are left out. Within a use of `rows`.
/// \throws Error  they are damaged
std::vector<StepPathTotal> readPathTotals(StoredRows& rows, RunId run);

} // namespace tilescope::store
