#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::session {

/// A point that the supervisor sends to the engine, one line of JSON: {"index", "of", "params"}.
struct PointLine {
    std::int64_t index = 0;
    std::int64_t of = 0;
    ExperimentSpec spec;
};

/// `auto`, `cpu`, `cuda`, `cuda:1`.
/// \throws Error  the word is not a device
DeviceRequest deviceFrom(std::string_view word);

/// A request to measure the ceilings of a device, one line of JSON: {"ceilings": "cuda:0"}.
std::string ceilingsLine(std::string_view device);
/// None if the line is another request.
/// \throws Error  the device is invalid
std::optional<DeviceRequest> parseCeilingsLine(std::string_view line);

std::string pointLine(const PointLine& point); ///< without the line break
/// \throws Error  the line is not a point
PointLine parsePointLine(std::string_view line);

} // namespace tilescope::session
