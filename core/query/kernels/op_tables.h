#pragma once

#include "core/analysis/time/range_totals.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/runs/event_query.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::query {

struct OpsTable {
    store::RunRecord run = {};
    Grouping grouping = Grouping::Name;
    std::optional<TimeSpan> span = {};
    std::vector<KernelRow> rows = {}; ///< most self time first
    std::int64_t events = 0;
};

/// By name, range, phase or module; self time is counted before the selection.
/// \param span  only what happens in it, in steps or not; an op that is only partly in it counts with that part
/// \throws Error  no such run; the pattern is invalid
OpsTable ops(const store::RunReader& reader, const EventQuery& query,
             const std::optional<TimeSpan>& span = {});

struct RangesTable {
    store::RunRecord run = {};
    std::optional<TimeSpan> span = {};
    std::vector<analysis::RangeTotal> rows = {}; ///< in tree order
    std::size_t paths = 0;                       ///< also those that do not match the pattern
    analysis::RangeScope scope = analysis::RangeScope::Steps;
    bool hasGpu = false;
    Nanoseconds gpuInModules{0}; ///< GPU time of the traced steps attributed below a phase
    Nanoseconds gpu{0};          ///< all GPU time of the traced steps
};

/// Only paths that match the pattern as a whole, and only what the process of the query did. Of a run without traced
/// steps the ranges of the whole recording.
/// \param span  only the parts of ranges, and of the work below them, that are in it
/// \throws Error  as ops()
RangesTable ranges(const store::RunReader& reader, const EventQuery& query,
                   const std::optional<TimeSpan>& span = {});

} // namespace tilescope::query
