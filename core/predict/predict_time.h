#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/predict/target_device.h"
#include "core/predict/work_clock.h"

#include <optional>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// The work of a phase of a step.
struct PhaseWork {
    Phase phase = Phase::Forward;
    bool isTimed = true; ///< included in the step's time
    std::vector<Work> works = {};
};

/// Predicted duration of a point.
struct TimePrediction {
    double stepSeconds = 0; ///< the timed phases of a step
    double error = 0;       ///< relative; the 90th percentile among recorded steps of this kind
    std::vector<std::pair<Phase, PhaseSeconds>> phases = {}; ///< of a step, timed or not
    double communicationSeconds = 0; ///< of the timed phases: bytes sent by a rank / bandwidth of the link
    double exposedSeconds = 0;       ///< the part during which nothing is computed; included in stepSeconds
    double seconds = 0;              ///< the whole point: all steps, set-up and the time between steps
};

/// The work of each phase of a step, in order. Independent of `rates.figures`. Empty if the spec cannot be
/// replayed.
std::vector<PhaseWork> stepWork(const ExperimentSpec& spec, const TargetDevice& device,
                                const DeviceRates& rates);
/// The duration of the timed phases.
/// \param phases  stepWork() of that spec
double stepSeconds(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases,
                   const DeviceRates& rates);

/// The share of the step time in which no kernel runs, mostly because the device waits for the host. 0 on a
/// CPU.
double idleShare(const ExperimentSpec& spec, const std::vector<PhaseWork>& phases, const DeviceRates& rates);

/// The relative error of a predicted step: the 90th percentile among recorded ones. Smallest if the device is
/// always busy, largest if it waits for the host, whose speed varies over minutes.
double expectedError(double idleShare, bool isCuda);

/// Predicts the time of a point by replaying the operations of a step. Each takes the longest of: its
/// arithmetic at the calibrated rate for its precision and size, its bytes at the calibrated bandwidth, and
/// its launch on the host. Ranks also send their traffic (communication.h) over the link, beside the phase that it
/// belongs to as far as that lasts; they never wait for each other. Thread-safe.
/// \return  none if it cannot be predicted, like predictMemory(), or the link of its ranks is unknown
/// O(layers) operations.
std::optional<TimePrediction> predictTime(const ExperimentSpec& spec, const TargetDevice& device,
                                          const DeviceRates& rates);

} // namespace tilescope::predict
