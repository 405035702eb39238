#pragma once

#include "core/predict/work_log.h"

#include <span>

namespace tilescope::predict {

/// What a phase takes.
struct PhaseSeconds {
    double wall = 0;
    double device = 0; ///< with kernels running
    double host = 0;   ///< until it has started all of them
};

enum class Replay { Eager, Graph };

/// Plays a phase of a step: the host starts kernels one after the other and runs ahead of the device, which
/// begins each when it was started and the one before has ended. On a CPU, which is its own device, each
/// operation takes both times; a captured graph takes the device's alone. O(works).
PhaseSeconds playedSeconds(std::span<const Work> works, const DeviceRates& rates, Replay how,
                           bool isBackward);

/// Time of one of them on the device, without what lies between kernels.
double deviceSeconds(const Work& work, const DeviceRates& rates);

} // namespace tilescope::predict
