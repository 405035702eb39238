#pragma once

#include "core/analysis/path/what_if.h"
#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <functional>
#include <unordered_set>
#include <vector>

namespace tilescope::query {

/// The threads that stand for steps which an import computed. No program runs on them.
std::unordered_set<ThreadId> threadsOfComputedSteps(const store::RunReader& reader, RunId run);

/// The steps of all processes with their wall times (analysis::StepWalls), by step, then process. If no
/// process has steps, each has one, its recording. A computed step belongs to the thread on which another range
/// ends with it; if there is none, it is a time of the device.
std::vector<analysis::RecordedStep> pathSteps(const store::RunReader& reader, RunId run,
                                              const TopologyIndex& topology,
                                              const std::function<bool()>& cancelled);

} // namespace tilescope::query
