#pragma once

#include "core/analysis/time/busy_time.h"

#include <span>
#include <vector>

namespace tilescope::analysis {

/// Of each piece of work the time that only it explains: within `walls`, while neither `covers` nor an earlier piece
/// runs. The times add up to the union of the pieces within `walls` less `covers`.
///
/// \param pieces  by start
/// \param covers, walls  sorted and disjoint
/// O(n).
std::vector<Nanoseconds> exposedTimes(std::span<const Interval> pieces, std::span<const Interval> covers,
                                      std::span<const Interval> walls);

} // namespace tilescope::analysis
