#pragma once

#include "core/predict/parallel_scaling.h"
#include "core/predict/predict_memory.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::session {

/// Replaces properties of the spec's device and of this machine.
struct ForecastTarget {
    std::optional<Bytes> capacity = {};     ///< a GPU with this much memory
    std::filesystem::path calibration = {}; ///< a file with ceilings, in addition to those of this user
};

/// Predicted time and memory of a point. Unknown values are absent.
struct PointForecast {
    std::string device; ///< NVIDIA H200, cpu
    bool isHere = true; ///< the device is on this machine
    std::optional<std::string> skipped =
        {}; ///< why the device cannot run the point; then there is no prediction
    std::optional<predict::MemoryPrediction> memory = {};
    std::optional<double> stepSeconds = {};
    std::optional<double> seconds = {}; ///< of all steps, including warm-up and traced ones
    std::optional<double> error = {};   ///< relative error of both times: predict::expectedError()
    std::optional<predict::ParallelScaling> ranks = {}; ///< of a point with ranks
    bool isFromBusyHost = false; ///< the times are based on ceilings that were measured on a busy host
};

/// The device that a request selects on this machine. If a GPU is requested and there is none: the GPU that
/// was calibrated last, for example in a file from another machine, otherwise a Hopper, with unlimited
/// memory.
predict::TargetDevice targetDevice(const DeviceRequest& request, const ForecastTarget& target,
                                   const std::vector<Ceiling>& ceilings);

/// One forecast per point, in order; any thread. Times need a calibrated device.
/// \throws Error     a calibration cannot be read
/// \param cancelled  checked before each point; true ends the call early
std::vector<PointForecast> forecast(const std::vector<SweepPoint>& points, const ForecastTarget& target,
                                    const std::function<bool()>& cancelled = {});

} // namespace tilescope::session
