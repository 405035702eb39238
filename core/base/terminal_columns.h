#pragma once

#include <cstddef>
#include <optional>

namespace tilescope {

/// The columns of the terminal that a descriptor is; none if it is no terminal or does not know its size.
std::optional<std::size_t> columnsOfTerminal(int descriptor);
/// The value of COLUMNS; none if it is not set or no number above 0.
std::optional<std::size_t> columnsOfEnvironment();

} // namespace tilescope
