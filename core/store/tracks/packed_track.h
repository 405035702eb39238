#pragma once

#include "core/store/rows/lanes.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

// Storage format of boxes and points: differences with seven bits per byte, and a list of distinct codes per
// block. Five to six bytes per box. A checksum comes first.

/// \pre boxes in start order that do not overlap
std::string packBoxes(std::span<const Box> boxes);
/// Appends to `boxes`.
/// \throws Error  the bytes are damaged
void unpackBoxes(std::string_view bytes, std::vector<Box>& boxes);

/// \pre points in time order
std::string packPoints(std::span<const MemoryPoint> points);
void unpackPoints(std::string_view bytes, std::vector<MemoryPoint>& points);

} // namespace tilescope::store
