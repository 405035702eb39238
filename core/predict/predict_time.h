#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/predict/target_device.h"
#include "core/predict/work_clock.h"

#include <optional>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// What a phase of a step does.
struct PhaseWork {
    Phase phase = Phase::Forward;
    bool isTimed = true; ///< counts in the step's time
    std::vector<Work> works = {};
};

/// How long a point will take.
struct TimePrediction {
    double stepSeconds = 0; ///< the timed phases of a step
    double error = 0;       ///< nine in ten recorded steps of its kind were within so large a share of theirs
    std::vector<std::pair<Phase, PhaseSeconds>> phases = {}; ///< of a step, timed or not
    double seconds = 0; ///< all steps of the point, with what comes before, between and after them
};

/// The phases of a step in their order, with what hangs on no figure of `rates.figures`. Empty where the spec
/// cannot be replayed.
std::vector<PhaseWork> stepWork(const ExperimentSpec& spec, const TargetDevice& device,
                                const DeviceRates& rates);
/// The timed phases of them.
/// \param phases  of a step of that spec
double stepSeconds(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases,
                   const DeviceRates& rates);

/// The share of that time in which no kernel runs, mostly as the device waits for the host. 0 on a CPU.
double idleShare(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases, const DeviceRates& rates);

/// By how large a share a predicted step may be off, as nine in ten recorded ones were: least where the
/// device is busy throughout, most where it waits for the host, whose pace changes from minute to minute.
double expectedError(double idleShare, bool isCuda);

/// Time of a point before it is run: the operations of a step replayed, each as long as its arithmetic at the
/// calibrated rate of its precision and size, or its bytes at the calibrated bandwidth, or the host that
/// starts it. Thread-safe.
/// \return  none where it is not known, as with predictMemory
/// O(layers) operations.
std::optional<TimePrediction> predictTime(const ExperimentSpec& spec, const TargetDevice& device,
                                          const DeviceRates& rates);

} // namespace tilescope::predict
