#pragma once

#include "core/analysis/work/work.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// The highest rates that a device can reach. Unknown rates are absent.
struct Ceilings {
    std::optional<double> flops = {}; ///< FLOP/s
    std::optional<double> bytes = {}; ///< B/s to and from its memory

    bool operator==(const Ceilings&) const = default;
};

/// What limits the speed of a computation: its arithmetic or its memory traffic.
enum class Bound : std::uint8_t { Compute, Memory };

std::string_view wordOf(Bound bound); ///< compute, memory

/// The position of some work under the roofline of a device.
struct RooflinePoint {
    Bound bound = Bound::Compute;
    double fraction = 0; ///< of the maximum at this intensity; above 1 if data came from a cache
};

/// Places work that took `time` under a roofline. The work takes at least its FLOPs divided by one ceiling
/// and its bytes divided by the other (Williams, Waterman and Patterson, 2009). The fraction is the larger of
/// these two times, divided by `time`.
/// \return  none if the time or the work is 0, or a required ceiling is unknown
/// O(1).
std::optional<RooflinePoint> placeUnder(const Ceilings& ceilings, Work work, Nanoseconds time);

/// Rates of work that took `time`; none if the time is 0.
std::optional<double> flopsPerSecond(Work work, Nanoseconds time);
std::optional<double> bytesPerSecond(Work work, Nanoseconds time);

/// FLOPs per byte; none if no bytes were moved.
std::optional<double> intensityOf(Work work);

} // namespace tilescope::analysis
