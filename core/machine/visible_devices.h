#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::machine {

/// The entry of CUDA_VISIBLE_DEVICES for CUDA device `index`: an index of the driver (`2`) or a UUID
/// (`GPU-…`, `MIG-…`).
/// \param visible  the variable's value; none: unset, CUDA's index is the driver's
/// \return         empty if the list has no such entry
std::string visibleDevice(std::optional<std::string_view> visible, int index);

} // namespace tilescope::machine
