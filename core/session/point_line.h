#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::session {

/// A point as the supervisor hands it to the engine, one line of JSON: {"index", "of", "params"}.
struct PointLine {
    std::int64_t index = 0;
    std::int64_t of = 0;
    ExperimentSpec spec;
};

std::string pointLine(const PointLine& point); ///< without the line break
/// \throws Error  where the line is no such thing
PointLine parsePointLine(std::string_view line);

} // namespace tilescope::session
