#pragma once

#include "core/base/units.h"
#include "core/model/events.h"

#include <optional>
#include <span>

namespace tilescope::analysis {

/// The moment at which the most memory was allocated.
struct MemoryPeak {
    Timestamp time{};
    Bytes allocated{};
    Bytes reserved{};
};

/// The first moment with the highest `allocated` that an event of the device reports. None without events. O(n).
std::optional<MemoryPeak> memoryPeak(std::span<const AllocEvent> events, DeviceIndex device);

/// The device with the highest peak: a run on a GPU allocates a little on the CPU too. None without events. O(n).
std::optional<DeviceIndex> mainMemoryDevice(std::span<const AllocEvent> events);

} // namespace tilescope::analysis
