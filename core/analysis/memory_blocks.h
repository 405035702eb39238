#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// One block of memory, from its allocation until its free was asked for.
struct BlockLife {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    Timestamp begin = Timestamp::min(); ///< min: it was there before the events
    Timestamp end = Timestamp::max();   ///< max: it is there after them
    std::size_t event = 0;              ///< its allocation's index
};

/// The lives of a device's blocks, in the order of their allocations.
/// \param events  of one run, in time order
/// \param older   how many of the events, from the first, only say what was allocated already
/// O(n).
std::vector<BlockLife> blockLives(std::span<const AllocEvent> events, DeviceIndex device,
                                  std::size_t older = 0);

} // namespace tilescope::analysis
