#pragma once

#include "core/analysis/time/step_partition.h"
#include "core/query/runs/event_query.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// The parts of the wall time of each traced step.
struct StepRow {
    RunId run = {};
    std::int32_t step = 0;
    std::string process = {};              ///< "rank 1", "python 4711"; empty in a run of one process
    std::optional<std::int32_t> rank = {}; ///< of the process; none if it is not part of a group
    ProcessNumbers numbers = {};
    ProcessIndex inRun = {};  ///< none: the only process
    std::string leftOut = {}; ///< why the step is not typical (StepChoice); empty: it is
    StepType type = StepType::Other;
    std::string source = {};    ///< what marks the step (StepChoice)
    bool onGpu = false;         ///< false: there is only the wall
    bool hostDecides = false;   ///< the GPU is busy, but waits for each launch (analysis::deciders)
    bool waitsForData = false;  ///< the host loads data for most of the time for which the GPU is idle
    bool waitsForRanks = false; ///< the GPU is busy with collectives that wait for other ranks
    bool isUnjudged = false;    ///< activities of the step are missing or have impossible times
    Nanoseconds unrecorded{0};  ///< analysis::UnrecordedWork, where it is so much that the step is not judged
    analysis::StepPartition partition = {};

    analysis::StepVerdict verdict() const;
};

struct StepsTable {
    std::vector<StepRow> rows = {};            ///< by run, then start
    StepChoice choice = {};                    ///< of a single run
    std::optional<StartPhase> start = {};      ///< of a recording, if the caller adds it
    std::optional<TimeSpan> span = {};         ///< rows are the parts of steps in it
    bool hasProcesses = false;                 ///< some row names one
    std::optional<store::RunRecord> last = {}; ///< of the runs in question; none: the file has no runs
};

/// The steps of one run or of all runs. Reads no events if the file stores the totals of the steps.
/// \param span  only the parts of steps in it. Reads the events around the steps that it overlaps, and all events of the run if
///              the file stores no totals
/// \throws Error  no such run
StepsTable steps(const store::RunReader& reader, const EventQuery& query,
                 const std::optional<TimeSpan>& span = {});

/// The steps of one run, computed from its events like those of files without totals.
std::vector<StepRow> stepsFromEvents(const store::RunReader& reader, RunId run,
                                     const ProcessQuery& topology = {},
                                     const std::optional<TimeSpan>& span = {});

/// The steps of one run, without a choice of typical ones (`leftOut`).
std::vector<StepRow> recordedSteps(const store::RunReader& reader, RunId run);

/// Of one run.
std::vector<StepRow> stepsOf(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
