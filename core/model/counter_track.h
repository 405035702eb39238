#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

/// A reading of a counter. Its value holds until the next one.
struct CounterPoint {
    Timestamp time{};
    std::int64_t value = 0; ///< thousandths of the unit

    bool operator==(const CounterPoint&) const = default;
};

/// What CounterPoint::value divides the unit into.
inline constexpr double kPartsOfCounterUnit = 1000;

/// A quantity that is read at intervals while a run is traced: a clock, a temperature, bytes per second. A rate
/// stands at the beginning of the interval that it was measured over.
struct CounterTrack {
    std::string name;                      ///< SM clock
    std::string unit = {};                 ///< Hz, W, °C, %, B, B/s; empty: a plain number
    ProcessIndex process = {};             ///< none: of a device, or of the run's only process
    DeviceIndex device = {};               ///< none: of the host
    std::int64_t failed = 0;               ///< readings that failed; the value before holds on
    Timestamp end{};                       ///< until when the last value holds
    std::vector<CounterPoint> points = {}; ///< by time

    bool operator==(const CounterTrack&) const = default;
};

/// Percentages of the time during which a GPU had a reason to reduce its clocks: 0 or 100 at each reading.
inline constexpr const char* kPowerCapCounter = "Power cap";
inline constexpr const char* kThermalSlowdownCounter = "Thermal slowdown";
inline constexpr const char* kHardwareSlowdownCounter = "Hardware slowdown";

} // namespace tilescope
