#pragma once

#include "core/analysis/path/what_if.h"
#include "core/query/runs/party_filter.h"
#include "core/store/run_reader.h"

#include <functional>
#include <vector>

namespace tilescope::query {

/// The steps of all processes with their wall times (analysis::StepWalls), by step, then process. If no
/// process has steps, each has one, its recording.
std::vector<analysis::RecordedStep> pathSteps(const store::RunReader& reader, RunId run,
                                              const PartyIndex& parties,
                                              const std::function<bool()>& cancelled);

} // namespace tilescope::query
