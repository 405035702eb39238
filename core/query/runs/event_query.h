#pragma once

#include "core/base/ids.h"
#include "core/query/runs/grouping.h"

#include <optional>
#include <string>

namespace tilescope::query {

/// Which events of a file a table is about.
struct EventQuery {
    std::optional<RunId> run = {}; ///< none: the file's last
    std::string rangeGlob = {}; ///< only what lies in a range that matches (analysis::PathGlob); empty: all
    Grouping grouping = Grouping::None; ///< None: the table's own
};

} // namespace tilescope::query
