#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// What the device events of one group (kernels of one name, of one family, of one range …) took together.
struct DeviceTotal {
    std::uint32_t group = 0;
    std::int64_t instances = 0;
    std::int64_t steps = 0; ///< traced steps in which the group occurs
    Nanoseconds total{0};   ///< sum of durations; streams that overlap count each
    Nanoseconds shortest{0};
    Nanoseconds longest{0};

    Nanoseconds average() const { return total / instances; }
};

/// The group that an event counts for; none leaves it out.
using GroupOf = std::function<std::optional<std::uint32_t>(const DeviceEvent&)>;

/// Totals by group, the costliest first; equal ones by group.
/// \param events  in any order
/// O(n + g log g).
std::vector<DeviceTotal> deviceTotals(std::span<const DeviceEvent> events, const GroupOf& groupOf);

} // namespace tilescope::analysis
