#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

namespace tilescope {

/// Whether a step of `workload` in `mode` has that phase; Phase::Step, the whole of it, always. Attention has
/// neither loss nor optimizer; a step of the workload collective has one phase.
bool hasPhase(Workload workload, Mode mode, Phase phase);

} // namespace tilescope
