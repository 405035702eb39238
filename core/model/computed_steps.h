#pragma once

#include <string_view>

namespace tilescope {

/// The name of an artificial thread. It holds the ranges of steps that were computed from other events. These
/// ranges may overlap the ranges of real threads without nesting.
inline constexpr std::string_view kComputedSteps = "computed steps";

} // namespace tilescope
