#pragma once

#include <string_view>

namespace tilescope {

/// The name without a number at its end and what separates it: "train_step" of "train_step #12".
std::string_view withoutNumber(std::string_view name);

/// Whether ranges of this name may be steps: step, iteration, train_step_12, ProfilerStep#3.
bool isNamedLikeStep(std::string_view name);

} // namespace tilescope
