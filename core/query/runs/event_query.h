#pragma once

#include "core/base/ids.h"
#include "core/query/runs/grouping.h"
#include "core/query/runs/process_filter.h"

#include <optional>
#include <string>

namespace tilescope::query {

/// Selects the events of a file for a table.
struct EventQuery {
    std::optional<RunId> run = {};      ///< none: the last run of the file
    std::string rangeGlob = {};         ///< only events in a matching range (analysis::PathGlob); empty: all
    Grouping grouping = Grouping::None; ///< None: the table's default
    ProcessQuery topology = {};         ///< only these processes and devices; empty: all
    std::optional<std::int32_t> step = {}; ///< only this step; of the roofline
};

} // namespace tilescope::query
