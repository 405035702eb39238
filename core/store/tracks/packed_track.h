#pragma once

#include "core/store/rows/lanes.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

// Boxes and points as a file keeps them: differences, seven bits a byte, the codes of a stretch listed once.
// Five to six bytes a box. A check sum stands in front.

/// \pre boxes in start order that do not overlap
std::string packBoxes(std::span<const Box> boxes);
/// Appends to `boxes`.
/// \throws Error  where the bytes are not as they were packed
void unpackBoxes(std::string_view bytes, std::vector<Box>& boxes);

/// \pre points in time order
std::string packPoints(std::span<const MemoryPoint> points);
void unpackPoints(std::string_view bytes, std::vector<MemoryPoint>& points);

} // namespace tilescope::store
