#pragma once

#include "core/base/units.h"
#include "core/model/events.h"
#include "core/model/memory.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// The moment at which most was allocated.
struct MemoryPeak {
    Timestamp time{};
    Bytes allocated{};
    Bytes reserved{};
};

/// The highest `allocated` that any event of the device reports; the first such moment. None without events.
/// O(n).
std::optional<MemoryPeak> memoryPeak(std::span<const AllocEvent> events, DeviceIndex device);

/// The device of the events that had the highest peak: the one that a question about "the" memory means.
/// A run on a GPU allocates a little on the CPU too. O(n).
std::optional<DeviceIndex> mainMemoryDevice(std::span<const AllocEvent> events);

/// A block that is allocated at some instant.
struct LiveBlock {
    std::uint64_t address = 0;
    Bytes bytes{};
    std::size_t event = 0; ///< index of the allocation into the events
};

/// What is allocated at an instant.
struct LiveSet {
    std::vector<LiveBlock> blocks; ///< the largest first
    Bytes untraced{}; ///< allocated before the first event: counted by the allocator, but by no event
};

/// The blocks of a device that are allocated just after `time`; a block counts until its free is asked for.
/// \param events  of one run, in time order
/// O(n log n).
LiveSet liveAt(std::span<const AllocEvent> events, DeviceIndex device, Timestamp time);

/// All blocks of a device that were ever allocated among the events, the largest first.
/// O(n log n).
std::vector<LiveBlock> everAllocated(std::span<const AllocEvent> events, DeviceIndex device);

/// Bytes of one group of allocations.
struct MemoryGroup {
    std::uint32_t group = 0;
    Bytes atPeak{}; ///< live at the device's peak
    Bytes max{};    ///< most that the group ever had
    std::int64_t allocations = 0;
};

/// The groups' memory, and what no event accounts for.
struct MemoryGroups {
    std::vector<MemoryGroup> groups; ///< the largest at the peak first, then by max
    MemoryPeak peak;
    Bytes untraced{}; ///< allocated at the peak, but before the first event: peak.allocated less all groups
};

/// Bytes by group at the peak: groups and `untraced` add up to what the allocator counted.
/// \param events   of one run, in time order
/// \param groupOf  the group of an allocation
/// \param older    how many of the events, from the first, only say what was allocated already
/// O(n + g log g).
MemoryGroups memoryGroups(std::span<const AllocEvent> events, DeviceIndex device,
                          const std::function<std::uint32_t(const AllocEvent&)>& groupOf,
                          std::size_t older = 0);

/// Blocks that were allocated before the first event, as events that can stand before it: allocations at the
/// moment at which they were looked at. Free ones are left out.
std::vector<AllocEvent> asAllocations(std::span<const MemoryBlock> blocks);

} // namespace tilescope::analysis
