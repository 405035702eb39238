#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// An instruction without what a compiler may choose anew: "@!P0 IMAD.X R5, R6, 0x4, R7" is "@P IMAD.X R, R, #, R".
std::string instructionShape(std::string_view text);

/// Pairs the instructions of two versions of a kernel, each in the order of the code: the longest common sequence of their
/// shapes; where the parts that differ have more than 4,000 instructions, the first of a shape with the first, and so on.
/// O(n m) time and n m bits of memory, n and m the lengths of those parts.
/// \param a,b  shapes
/// \return     places in a and b, ascending
std::vector<std::pair<std::size_t, std::size_t>> pairedInstructions(const std::vector<std::string>& a,
                                                                    const std::vector<std::string>& b);

} // namespace tilescope::query
