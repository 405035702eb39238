#pragma once

#include "core/predict/predict_memory.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::session {

/// What to predict for, instead of what each point's spec and this machine say.
struct ForecastTarget {
    std::optional<Bytes> capacity = {};     ///< a GPU with so much memory
    std::filesystem::path calibration = {}; ///< a file whose ceilings count beside those of this user
};

/// What a point is expected to take before it is run. What is not known is absent.
struct PointForecast {
    std::string device; ///< NVIDIA H200, cpu
    bool isHere = true; ///< the device is of this machine
    std::optional<std::string> skipped =
        {}; ///< why the device cannot run the point; then nothing is foretold
    std::optional<predict::MemoryPrediction> memory = {};
    std::optional<double> stepSeconds = {};
    std::optional<double> seconds = {}; ///< of all its steps, warm-up and traced ones too
    std::optional<double> error =
        {};                      ///< the share of both times by which they may be off: predict::expectedError
    bool isFromBusyHost = false; ///< the times rest on ceilings that were measured on a busy host
};

/// The device that a request means on this machine. A GPU that is asked for where there is none is the one
/// that was calibrated last, such as in a file from elsewhere; else a Hopper. Its memory has no end then.
predict::TargetDevice targetDevice(const DeviceRequest& request, const ForecastTarget& target,
                                   const std::vector<Ceiling>& ceilings);

/// One forecast a point, in order; any thread. Time is told for devices that were calibrated.
/// \throws Error     a calibration cannot be read.
/// \param cancelled  asked before each point; true: the answer is not wanted any more, and is cut short
std::vector<PointForecast> forecast(const std::vector<SweepPoint>& points, const ForecastTarget& target,
                                    const std::function<bool()>& cancelled = {});

} // namespace tilescope::session
