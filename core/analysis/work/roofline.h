#pragma once

#include "core/analysis/work/work.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// What a device can reach at most. What is not known is absent.
struct Ceilings {
    std::optional<double> flops = {}; ///< FLOP/s
    std::optional<double> bytes = {}; ///< B/s to and from its memory

    bool operator==(const Ceilings&) const = default;
};

/// What keeps a computation from being faster: its arithmetic or its traffic.
enum class Bound : std::uint8_t { Compute, Memory };

std::string_view wordOf(Bound bound); ///< compute, memory

/// Where some work lies under the roof of a device.
struct RooflinePoint {
    Bound bound = Bound::Compute;
    double fraction =
        0; ///< of what the device could reach at this intensity; above 1 where data came from a cache
};

/// Places work that took `time` under a roof: it cannot be done faster than its flops at the one ceiling, nor
/// than its bytes at the other (Williams, Waterman and Patterson, 2009), so the least time is the larger of
/// the two, and the fraction is that over the time it took.
/// \return  none where the time or the work is 0, or a ceiling that the work needs is not known
/// O(1).
std::optional<RooflinePoint> placeUnder(const Ceilings& ceilings, Work work, Nanoseconds time);

/// Rates of work that took `time`; none where the time is 0.
std::optional<double> flopsPerSecond(Work work, Nanoseconds time);
std::optional<double> bytesPerSecond(Work work, Nanoseconds time);

/// FLOPs per byte; none where nothing was moved.
std::optional<double> intensityOf(Work work);

} // namespace tilescope::analysis
