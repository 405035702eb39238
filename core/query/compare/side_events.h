#pragma once

#include "core/query/compare/step_side.h"
#include "core/query/compare/traced_groups.h"

namespace tilescope::query {

/// The data that a comparison reads from the events of one side.
struct SideEvents {
    TracedGroups groups = {};
    StepSide step = {}; ///< of the traced steps
};

/// tracedGroups() and stepSide() of the same runs; where a run has a GPU, from one pass over its events.
/// \param topology  which process the steps are of; empty: of all
SideEvents sideEvents(const store::RunReader& reader, std::span<const RunId> runs,
                      const ProcessQuery& topology);

} // namespace tilescope::query
