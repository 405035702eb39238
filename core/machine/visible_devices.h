#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::machine {

/// Which GPU CUDA's device `index` is, as CUDA_VISIBLE_DEVICES names it: an index of the driver (`2`) or a
/// UUID (`GPU-…`, `MIG-…`).
/// \param visible  the variable's value; none where it is unset, and then CUDA's index is the driver's.
/// \return         empty where the list ends before it
std::string visibleDevice(std::optional<std::string_view> visible, int index);

} // namespace tilescope::machine
