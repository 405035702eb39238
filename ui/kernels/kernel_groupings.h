#pragma once

#include "core/query/runs/grouping.h"

namespace tilescope::ui {

// How the list of the page Kernels groups them, in the order of its control.
inline constexpr query::Grouping kKernelGroupings[] = {query::Grouping::Name,  query::Grouping::Family,
                                                       query::Grouping::Range, query::Grouping::Module,
                                                       query::Grouping::Phase, query::Grouping::Shape};
enum GroupBy { ByName, ByFamily, ByRange, ByShape = 5 };

} // namespace tilescope::ui
