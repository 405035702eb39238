#pragma once

#include <span>
#include <vector>

namespace tilescope::analysis {

/// The rank of each value, from 1; equal values share their mean rank. O(n log n).
std::vector<double> ranksOf(std::span<const double> values);

} // namespace tilescope::analysis
