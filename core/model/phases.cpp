#include "core/model/phases.h"

namespace tilescope {

bool hasPhase(Workload workload, Mode mode, Phase phase)
{
    if (workload == Workload::Collective)
        return phase == Phase::Step || phase == Phase::Collective;
    const bool isLm = workload == Workload::Lm;
    switch (phase) {
    case Phase::Step:
    case Phase::Forward:
        return true;
    case Phase::Backward:
        return mode != Mode::Forward;
    case Phase::Loss:
        return isLm && mode != Mode::Forward;
    case Phase::Optimizer:
        return isLm && mode == Mode::Train;
    case Phase::Collective:
        break;
    }
    return false;
}

} // namespace tilescope
