#pragma once

#include "core/query/kernels/inside_difference.h"
#include "ui/kit/table_model.h"

namespace tilescope::ui {

/// What changed inside the sampled kernels that two runs have in common: a row a line, or a state of the warps, the largest
/// change first. In time of a launch; where the time of no kernel is known, in percent of its samples. The id is the
/// index of the row.
TableData insideChangeRows(const query::InsideDifference& difference);

} // namespace tilescope::ui
