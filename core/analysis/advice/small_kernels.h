#pragma once

#include "core/analysis/advice/stake.h"
#include "core/base/ids.h"

#include <span>
#include <vector>

namespace tilescope::analysis {

/// A shorter kernel is small: a launch alone takes the host several microseconds.
inline constexpr Nanoseconds kSmallKernel{10'000};

/// A kernel or another device activity on a stream.
struct StreamActivity {
    GroupedTime activity{};
    DeviceIndex device = {};
    StreamId stream = {};
    bool isKernel = true; ///< it computes: copies and collectives cannot be fused
};

/// The time that fusing neighbouring small kernels saves at most: that of all kernels of a series except the longest, and the
/// gaps between them.
///
/// Neighbours run on one stream, one after the other, with gaps shorter than kSmallKernel. A gap belongs to
/// the kernel after it. Time in which anything else runs does not count.
/// \param activities  of the process, in any order
/// \param walls       disjoint, in start order
/// O(n log n).
Stake smallKernels(std::vector<StreamActivity> activities, std::span<const Interval> walls);

} // namespace tilescope::analysis
