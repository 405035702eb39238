#pragma once

#include "core/analysis/time/busy_time.h"

#include <span>
#include <vector>

namespace tilescope::analysis {

/// For each piece of work, the time within `walls` that neither `covers` nor an earlier piece covers. The
/// times add up to the union of the pieces within `walls`, minus `covers`.
///
/// \param pieces  sorted by start
/// \param covers, walls  sorted and disjoint
/// O(n).
std::vector<Nanoseconds> exposedTimes(std::span<const Interval> pieces, std::span<const Interval> covers,
                                      std::span<const Interval> walls);

} // namespace tilescope::analysis
