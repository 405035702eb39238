#pragma once

#include "core/query/timeline/timeline.h"

#include <cstdint>
#include <vector>

namespace tilescope::query {

/// What a device did in an interval: the time that boxes of one name take in it.
struct WorkBeneath {
    std::uint32_t name = 0; ///< index in Timeline::names
    Hue hue = Hue::Other;
    std::int64_t time = 0; ///< nanoseconds, summed over the streams

    bool operator==(const WorkBeneath&) const = default;
};

/// Kernels, copies and memsets of a device within [from, to), those with most time first. O(streams log n + boxes there).
std::vector<WorkBeneath> workBeneath(const Timeline& timeline, DeviceIndex device, std::int64_t from,
                                     std::int64_t to);

} // namespace tilescope::query
