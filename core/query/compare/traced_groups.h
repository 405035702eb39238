#pragma once

#include "core/analysis/compare/comparison.h"
#include "core/query/kernels/group_sums.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <span>
#include <vector>

namespace tilescope::query {

/// The times of kernels, families, ops and ranges in the traced steps of some runs.
struct TracedGroups {
    std::vector<analysis::GroupTimes> families = {}; ///< of kernels; of ops if no run had a GPU
    std::vector<analysis::GroupTimes> kernels = {};  ///< none on a CPU
    std::vector<analysis::GroupTimes> ops = {};      ///< self time; only of runs without a GPU
    std::vector<analysis::GroupTimes> ranges = {};   ///< GPU time, or wall time without a GPU
    LaunchFamilies byLaunch = {};                    ///< of kernels whose names say no family
    bool hasSteps = false;                           ///< of a span: events
    bool onGpu = false;
};

/// Of one run. Reads each event once, where the run has a GPU and no span is given.
/// \param span  counts what happens in it instead, in steps or not, as one step
/// \param topology  only the steps of this process; empty: of all, each of which has steps of its own
RunGroups runGroups(const store::RunReader& reader, RunId run, const ProcessQuery& topology = {},
                    const std::optional<TimeSpan>& span = {});
/// Of the runs of a side. Runs without traced steps are left out.
TracedGroups joined(std::span<RunGroups> runs);

/// Reads the events of the traced steps, one run after the other.
/// \param span  counts what happens in it instead, in steps or not, as one step
/// \param topology  as in runGroups()
TracedGroups tracedGroups(const store::RunReader& reader, std::span<const RunId> runs,
                          const ProcessQuery& topology = {}, const std::optional<TimeSpan>& span = {});

} // namespace tilescope::query
