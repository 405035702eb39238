#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::session {

/// A point as the supervisor hands it to the engine, one line of JSON: {"index", "of", "params"}.
struct PointLine {
    std::int64_t index = 0;
    std::int64_t of = 0;
    ExperimentSpec spec;
};

/// `auto`, `cpu`, `cuda`, `cuda:1`.
/// \throws Error  another word
DeviceRequest deviceFrom(std::string_view word);

/// A device whose ceilings are asked for, one line of JSON: {"ceilings": "cuda:0"}.
std::string ceilingsLine(std::string_view device);
/// None where the line asks for something else.
/// \throws Error  for no device
std::optional<DeviceRequest> parseCeilingsLine(std::string_view line);

std::string pointLine(const PointLine& point); ///< without the line break
/// \throws Error  where the line is no such thing
PointLine parsePointLine(std::string_view line);

} // namespace tilescope::session
