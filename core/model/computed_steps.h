#pragma once

#include <string_view>

namespace tilescope {

/// Name of a thread that no program ran: it holds the ranges of steps that were computed from other events, which may
/// overlap the ranges of real threads without nesting.
inline constexpr std::string_view kComputedSteps = "computed steps";

} // namespace tilescope
