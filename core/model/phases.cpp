#include "core/model/phases.h"

namespace tilescope {

bool hasPhase(Workload workload, Mode mode, Phase phase)
{
    if (workload == Workload::Collective)
        return phase == Phase::Step || phase == Phase::Collective;
    const bool isLm = workload == Workload::Lm;
    const bool generates = mode == Mode::Generate;
    switch (phase) {
    case Phase::Step:
        return true;
    case Phase::Forward:
        return !generates;
    case Phase::Prefill:
    case Phase::Decode:
    case Phase::Sample:
        return isLm && generates;
    case Phase::Backward:
        return mode != Mode::Forward && !generates;
    case Phase::Loss:
        return isLm && mode != Mode::Forward && !generates;
    case Phase::Optimizer:
        return isLm && mode == Mode::Train;
    case Phase::Collective:
        break;
    }
    return false;
}

} // namespace tilescope
