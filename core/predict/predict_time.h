#pragma once

#include "core/model/spec.h"
#include "core/predict/target_device.h"
#include "core/predict/work_clock.h"

#include <optional>

namespace tilescope::predict {

/// How long a point will take.
struct TimePrediction {
    double stepSeconds = 0; ///< the timed phases of a step
    double seconds = 0;     ///< all steps of the point, with what comes before, between and after them
};

/// Time of a point before it is run: the operations of a step replayed, each as long as its arithmetic at the
/// calibrated rate of its precision and size, or its bytes at the calibrated bandwidth, or the host that
/// starts it. Thread-safe. \return  none where it is not known, as with predictMemory O(layers) operations.
std::optional<TimePrediction> predictTime(const ExperimentSpec& spec, const TargetDevice& device,
                                          const DeviceRates& rates);

} // namespace tilescope::predict
