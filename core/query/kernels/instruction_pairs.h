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
/// shapes if they differ in at most 2,000 instructions, otherwise piece by piece (analysis::alignSequences()).
/// \param a,b  shapes
/// \return     places in a and b, ascending
std::vector<std::pair<std::size_t, std::size_t>> pairedInstructions(const std::vector<std::string>& a,
                                                                    const std::vector<std::string>& b);

} // namespace tilescope::query
