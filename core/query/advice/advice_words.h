#pragma once

#include "core/analysis/advice/rule.h"

#include <string_view>

namespace tilescope::query {

/// How the time at stake is computed.
/// \param onGpu  whether the run has GPU activity
std::string_view boundOf(analysis::AdviceRule rule, bool onGpu);

/// What to do about it: one sentence.
std::string_view remedyOf(analysis::AdviceRule rule);

} // namespace tilescope::query
