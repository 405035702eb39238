#pragma once

#include "core/predict/work_log.h"

#include <span>

namespace tilescope::predict {

/// The duration of a phase.
struct PhaseSeconds {
    double wall = 0;
    double device = 0;  ///< time with kernels running
    double host = 0;    ///< time until all kernels are launched
    double exposed = 0; ///< part of `wall`: communication while nothing is computed
};

enum class Replay { Eager, Graph };

/// Simulates a phase of a step. The host launches kernels one after the other and runs ahead of the device.
/// The device starts each kernel once it was launched and the previous one has ended. On a CPU, which is its
/// own device, an operation takes the sum of both times; a captured graph takes only device time. O(works).
PhaseSeconds playedSeconds(std::span<const Work> works, const DeviceRates& rates, Replay how,
                           bool isBackward);

/// Duration of one piece of work on the device, without the gap between kernels.
double deviceSeconds(const Work& work, const DeviceRates& rates);

} // namespace tilescope::predict
