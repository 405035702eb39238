#pragma once

#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <optional>
#include <vector>

namespace tilescope::query {

/// The recorded steps of a run without timed steps, and what its program met in them.
struct RecordedSteps {
    std::vector<double> walls = {}; ///< ms: the mean of the processes
    /// The share of the steps, 0 to 1, in which a thread waited for a core; none: not known.
    std::optional<double> waiting = {};
    std::optional<double> someWaiting = {}; ///< as TimedRun::someWaiting
    int threads =
        0; ///< as TimedRun::threads, or kSeveralThreads: 1 if one takes nine tenths of their processor time
};

/// \param topology  whose steps; the waiting is that of all processes
RecordedSteps recordedStepTimes(const store::RunReader& reader, RunId run, const ProcessQuery& topology);

} // namespace tilescope::query
