#pragma once

#include "core/predict/device_rates.h"
#include "core/predict/target_device.h"

#include <optional>

namespace tilescope::predict {

/// How time and memory of a point with ranks depend on the number of ranks.
struct ParallelScaling {
    bool isCapacityKnown = false;
    /// The least number of ranks with which a rank fits, each with the batch of the spec; none: no number up to
    /// kMostRanks does, or the capacity is unknown.
    std::optional<int> fitsFrom = {};
    double bytesSent = 0; ///< bytes that a rank sends in a step
    std::optional<double> communicationSeconds = {};
    std::optional<double> exposedSeconds = {};
    /// communicationBoundFrom(): all ranks together keep the batch of the spec's ranks. None on a CPU.
    std::optional<int> boundFrom = {};

    static constexpr int kMostRanks = 64;
};

/// \param rates  none: the device is not calibrated, so times are unknown
/// \return       none for a point without ranks or one that cannot be replayed
/// O(kMostRanks layers) operations.
std::optional<ParallelScaling> parallelScaling(const ExperimentSpec& spec, const TargetDevice& device,
                                               const std::optional<DeviceRates>& rates);

} // namespace tilescope::predict
