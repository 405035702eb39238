#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/query/path/path_graphs.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// Work that takes another time.
struct WorkScale {
    std::string key =
        {};            ///< a family, a glob of paths if it has a slash or `**`, or a name of kernels or ops
    double factor = 1; ///< of its time
};

/// `softmax=0.5`
/// \throws Error (Usage)  it is not KEY=FACTOR with a factor of at least 0
WorkScale workScaleOf(std::string_view text);

struct WhatIfQuery {
    std::optional<RunId> run = {}; ///< none: the last run of the file
    ProcessQuery topology = {};
    std::vector<WorkScale> scales = {};
    std::vector<std::string> removed = {}; ///< work that the program leaves out, by keys as of WorkScale
    bool freeLaunches = false;
    bool freeCommunication = false;
    std::int64_t mostEvents = kMostPathEvents; ///< in memory at a time
};

/// A step as recorded and as predicted.
struct WhatIfStep {
    std::optional<std::int32_t> step = {}; ///< none: the whole recording
    Nanoseconds wall{0};
    Nanoseconds predicted{0};
    std::string leftOut = {}; ///< why the step is not typical (StepChoice); empty: it is
};

/// The prediction for one process.
struct WhatIfRow {
    std::string title = {}; ///< "rank 1"; empty in a run of one process
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
    std::vector<WhatIfStep> steps = {};
    analysis::Statistics recordedMs = {};
    analysis::Statistics predictedMs = {};
    analysis::Statistics ratio = {};    ///< predicted / recorded, by step: its spread is the uncertainty
    std::optional<double> timedMs = {}; ///< median of the timed steps, which were not traced
    /// timedMs x median ratio. With free launches the median of predictions without gaps between kernels, or timedMs if that
    /// is less: in an untraced CUDA graph the durations of its kernels, as tracing measures them, add up to its
    /// time (measured on an H200).
    std::optional<double> predictedTimedMs = {};
};

struct WhatIfTable {
    store::RunRecord run = {};
    std::string change = {}; ///< in words
    StepChoice choice = {};  ///< of the steps that the statistics are of
    /// What the recording does not say and the prediction assumes, as a sentence; empty: nothing.
    std::string assumption = {};
    Nanoseconds changed{0};           ///< recorded time of the work that `scales` and `removed` select
    Nanoseconds removedHost{0};       ///< recorded time in which the host launched what is removed
    std::vector<WhatIfRow> rows = {}; ///< by rank
};

/// Simulates all steps of the run with changed times (analysis::changedTimes). If the run has more than `mostEvents`,
/// simulates as many steps at a time as fit; a longer step is simulated in pieces, each from its recorded start.
/// \param cancelled  ends the reading early; the table is then without rows
/// \throws Error  no such run, rank or process; a key selects nothing; the run has no launches or communication that could
///                be free
WhatIfTable whatIf(
    const store::RunReader& reader, const WhatIfQuery& query,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
