#pragma once

#include "core/session/supervisor/supervisor.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// What a point is expected to take before it is run. What a predictor cannot tell is absent.
struct PointForecast {
    std::optional<double> seconds = {};
    std::optional<std::int64_t> peakBytes = {};
    bool outOfMemory = false; ///< its peak is above what it may take
    std::optional<double> stepSeconds = {};
    std::optional<double> error = {}; ///< the share by which both times may be off
};

/// What a sweep is expected to take on one device.
struct SweepForecast {
    QString device; ///< NVIDIA H200; what `on this …` names
    std::vector<PointForecast> points;
    bool isHere = true;          ///< the device is of this machine; else it was calibrated elsewhere
    bool isFromBusyHost = false; ///< the device was calibrated while its host was busy

    std::optional<double> seconds() const; ///< of all points; none where one is not known
    /// The share by which they may be off, as all points may be in the same direction.
    std::optional<double> error() const;
    std::optional<std::int64_t> peakBytes() const; ///< the largest that is known
    std::int64_t outOfMemory() const;              ///< points that are expected to run out
};

/// Says before a sweep is run what it will take. The page asks it from a thread of the pool each time the
/// spec changes; until one is set it says that there is no prediction yet.
class Forecaster {
public:
    virtual ~Forecaster() = default;
    /// One forecast a point, in order; none where it knows nothing about this device. May throw Error, whose
    /// sentence is then shown.
    /// \param cancelled  asked now and then; true: the answer is not wanted any more
    virtual std::optional<SweepForecast> forecast(const std::vector<session::SweepPoint>& points,
                                                  const std::function<bool()>& cancelled) const = 0;
};

/// Says what session::forecast says for the devices of this machine: memory of every point, time where a
/// device was calibrated.
std::shared_ptr<const Forecaster> machineForecaster();

/// "about 2m40s ± 20 % on this NVIDIA H200, predicted peak 16.9 GiB allocated"; what is not known is left out.
QString forecastWords(const SweepForecast& forecast);

/// "20 %"
QString percentWords(double share);

/// What a sweep allows each point: "memory_limit auto", "memory_limit 8 GiB", "memory_limit 4 GiB to 8 GiB".
QString memoryLimitWords(const std::vector<session::SweepPoint>& points);

} // namespace tilescope::ui
