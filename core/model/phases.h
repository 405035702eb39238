#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <array>
#include <cstddef>

namespace tilescope {

/// Whether a step of `workload` in `mode` has that phase; Phase::Step, the whole of it, always. Attention has
/// neither loss nor optimizer; a step of the workload collective has one phase. In mode generate a step is one token:
/// the first has the phases prefill and sample, the others decode and sample.
bool hasPhase(Workload workload, Mode mode, Phase phase);

/// The phases that a step can have, in execution order.
inline constexpr std::array kStepPhases{Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer};

/// Calls the member function for a phase: one for each of kStepPhases, none for other phases.
template <class Object>
void runPhase(Object& object, Phase phase, const std::array<void (Object::*)(), 4>& members)
{
    for (std::size_t i = 0; i < kStepPhases.size(); ++i)
        if (kStepPhases[i] == phase)
            (object.*members[i])();
}

} // namespace tilescope
