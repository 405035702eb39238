#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilescope::analysis {

/// Totals of the device events of one group: kernels of one name, family, range, …
struct DeviceTotal {
    std::uint32_t group = 0;
    std::int64_t instances = 0;
    std::int64_t steps = 0; ///< traced steps in which the group occurs
    Nanoseconds total{0};   ///< sum of durations; overlapping streams count separately
    Nanoseconds shortest{0};
    Nanoseconds longest{0};

    Nanoseconds average() const { return total / instances; }
};

/// Sums events one by one, in any order. Memory is O(groups and their steps).
class DeviceTotals {
public:
    void add(std::uint32_t group, const DeviceEvent& event);
    /// By total time, largest first; equal totals by group. O(g log g).
    std::vector<DeviceTotal> list() const;

private:
    /// Most events arrive in step order, so remembering the last step is sufficient.
    struct Accumulator {
        DeviceTotal total;
        std::int32_t lastStep = kNoStep;
        std::unordered_set<std::int32_t> steps;
    };
    std::unordered_map<std::uint32_t, Accumulator> groups_;
};

} // namespace tilescope::analysis
