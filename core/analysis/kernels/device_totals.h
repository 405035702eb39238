#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
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

/// Adds up events one by one, in any order: what grows is the number of groups and of their steps, not that
/// of events.
class DeviceTotals {
public:
    void add(std::uint32_t group, const DeviceEvent& event);
    /// The costliest first; equal ones by group. O(g log g).
    std::vector<DeviceTotal> list() const;

private:
    /// Events mostly come in step order, so the last step seen answers nearly all.
    struct Accumulator {
        DeviceTotal total;
        std::int32_t lastStep = kNoStep;
        std::unordered_set<std::int32_t> steps;
    };
    std::unordered_map<std::uint32_t, Accumulator> groups_;
};

/// Totals by group, the costliest first; equal ones by group.
/// \param events  in any order
/// O(n + g log g).
std::vector<DeviceTotal> deviceTotals(std::span<const DeviceEvent> events, const GroupOf& groupOf);

} // namespace tilescope::analysis
