#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tilescope {

/// The environment entry of an imported run that lists the steps whose activities are missing or have impossible times:
/// `3-5, 9`. They get no verdict.
inline constexpr std::string_view kUnjudgedSteps = "steps.unjudged";

/// The numbers in such a list, ascending; a list that is damaged ends there. At most a million.
std::vector<std::int32_t> unjudgedSteps(std::string_view list);

} // namespace tilescope
