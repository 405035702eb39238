#pragma once

#include "core/analysis/stats/counter_figures.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A counter that was read while a run was traced.
struct CounterRow {
    std::string place; ///< host, GPU 0; of several processes: rank 1, rank 1 GPU 0
    RowProcess process = {};
    DeviceIndex device = {}; ///< none: the host
    std::string name = {};
    std::string unit = {};
    std::int64_t failed = 0; ///< readings of the whole trace
    analysis::CounterFigures figures = {};
};

struct CountersTable {
    store::RunRecord run = {};
    std::optional<TimeSpan> span = {};
    std::vector<CounterRow> rows = {}; ///< by place
    bool anyRecorded = false;          ///< whatever the span
};

/// The counters of a run, in a span or over its traced steps.
/// \throws Error  there is no such run
CountersTable counters(const store::RunReader& reader, std::optional<RunId> run = {},
                       const std::optional<TimeSpan>& span = {});

/// A value with its unit as people read it: 1.98 GHz, 312 W, 25.1 GB/s, 4.10 GiB.
std::string counterText(double value, std::string_view unit);

} // namespace tilescope::query
