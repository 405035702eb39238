#pragma once

#include "core/session/supervisor/supervisor.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The forecast of a point. Values that the predictor does not know are absent.
struct PointForecast {
    std::optional<double> seconds = {};
    std::optional<std::int64_t> peakBytes = {};
    bool outOfMemory = false; ///< its peak exceeds the limit
    std::optional<double> stepSeconds = {};
    std::optional<double> error = {}; ///< relative error of both times
};

/// The expected time and memory of a sweep on one device.
struct SweepForecast {
    QString device; ///< NVIDIA H200; what `on this …` names
    std::vector<PointForecast> points;
    bool isHere = true;          ///< the device is of this machine; else it was calibrated elsewhere
    bool isFromBusyHost = false; ///< the device was calibrated while its host was busy

    std::optional<double> seconds() const; ///< of all points; none if one is not known
    /// Their relative error; all points may deviate in the same direction.
    std::optional<double> error() const;
    std::optional<std::int64_t> peakBytes() const; ///< the largest that is known
    std::int64_t outOfMemory() const;              ///< points that are expected to run out
};

/// Forecasts time and memory of a sweep. The page calls it on a pool thread whenever the spec changes.
class Forecaster {
public:
    virtual ~Forecaster() = default;
    /// One forecast per point, in order; null if nothing is known about this device. May throw Error, whose
    /// sentence is then shown.
    /// \param cancelled  polled; true: the result is no longer needed
    virtual std::optional<SweepForecast> forecast(const std::vector<session::SweepPoint>& points,
                                                  const std::function<bool()>& cancelled) const = 0;
};

/// Uses session::forecast for the devices of this machine: memory of every point, and time if a device was
/// calibrated.
std::shared_ptr<const Forecaster> machineForecaster();

/// "about 2m40s ± 20 % on this NVIDIA H200, predicted peak 16.9 GiB allocated"; unknown parts are left out.
QString forecastWords(const SweepForecast& forecast);

/// "20 %"
QString percentWords(double share);

/// The memory limit of the points of a sweep: "memory_limit auto", "memory_limit 8 GiB", "memory_limit 4 GiB
/// to 8 GiB".
QString memoryLimitWords(const std::vector<session::SweepPoint>& points);

} // namespace tilescope::ui
