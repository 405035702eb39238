#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/kernels/inside_difference.h"
#include "core/query/kernels/inside_table.h"

#include <memory>

namespace tilescope::exchange {

/// The section `inside` of `tilescope show`.
Table tableOf(std::shared_ptr<const query::InsideTable> inside);
/// The same with --against.
Table tableOf(std::shared_ptr<const query::InsideDifference> difference);

} // namespace tilescope::exchange
