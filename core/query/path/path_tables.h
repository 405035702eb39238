#pragma once

#include "core/analysis/path/critical_path.h"
#include "core/query/path/path_graphs.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

struct PathQuery {
    std::optional<RunId> run = {};         ///< none: the last run of the file
    ProcessQuery topology = {};            ///< only paths of this process; no device
    std::optional<std::int32_t> step = {}; ///< only this step
    std::optional<TimeSpan> span = {};     ///< only the parts of paths in it
    std::string rangeGlob = {}; ///< only segments in a matching range (analysis::PathGlob); empty: all
    std::int64_t mostEvents = kMostPathEvents; ///< in memory at a time
};

/// A stretch of a critical path, in words.
struct PathSegmentRow {
    Nanoseconds start{0}; ///< from the start of the step
    Nanoseconds duration{0};
    analysis::PathPart part = analysis::PathPart::Unexplained;
    std::optional<analysis::Cause> cause =
        {};                                ///< why it is on the path; none: its start has no recorded cause
    std::string name = {};                 ///< op, call, kernel; where the path waits, what starts at its end
    std::string family = {};               ///< of kernels, copies and, on a CPU, ops
    std::string module = {};               ///< empty: none is known
    std::string lane = {};                 ///< "thread main", "GPU 0 stream 7"
    std::string process = {};              ///< "rank 1"; empty in a run of one process
    std::optional<std::int32_t> rank = {}; ///< a collective leads to other ranks
    ThreadId thread = {};                  ///< on which it runs; none: on a device, or not recorded
    DeviceIndex device = {};
    StreamId stream = {};
};

/// The critical path of a step of one process.
struct PathRow {
    std::optional<std::int32_t> step = {}; ///< none: the whole recording, which has no steps
    ProcessIndex process = {};
    std::string title = {}; ///< "rank 1"; empty in a run of one process
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
    std::string leftOut = {};       ///< why the step is not typical (StepChoice); empty: it is
    analysis::Interval wall = {};   ///< of the step, or its part in the span
    analysis::PathParts parts = {}; ///< add up to the wall time, or with a range to that of its segments
    std::vector<PathSegmentRow> segments =
        {}; ///< equal consecutive segments count once; only if a step is requested
};

struct PathTable {
    store::RunRecord run = {};
    std::vector<PathRow> rows = {}; ///< by step, then rank
    std::int64_t rowsOfRun = 0;     ///< before selection
    StepChoice choice = {};         ///< of the steps that means are of
    std::optional<TimeSpan> span = {};
    std::string rangeGlob = {};
    bool onGpu = false;
    bool hasOps = false;
    bool hasCalls = false;
    /// Activities of the GPU, and those of them whose launch was not recorded; counted if much of the paths is unexplained.
    std::int64_t activities = 0;
    std::int64_t withoutLaunch = 0;
    /// Also then: the part of the rows' time in which GPUs work on, or wait for, what was not recorded (analysis::UnrecordedWork).
    Nanoseconds unrecorded{0};

    /// The parts of the rows that are typical, or of all if none is.
    analysis::PathParts typicalParts() const;
};

/// Share of the paths' time from which their unexplained part needs an explanation.
inline constexpr double kMuchUnexplained = 0.05;

/// The critical path of each step. If the file stores what the paths of all steps spend their time on, and neither a step nor a part of
/// the recording is requested, reads no events. Otherwise holds the events of one step in memory at a time. A step with more than
/// `mostEvents` is read in pieces from its end; the path continues from piece to piece on its current thread
/// or device. Work at the borders of pieces may be unexplained.
/// \param cancelled  ends the reading early; the table is then without rows
/// \throws Error  no such run, rank or process; a device is asked for; the pattern is invalid
PathTable criticalPaths(
    const store::RunReader& reader, const PathQuery& query,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
