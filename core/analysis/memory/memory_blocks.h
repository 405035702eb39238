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
    std::size_t event = 0;              ///< its allocation's index, among the older ones or among the events
};

/// The lives of a device's blocks, in the order of their allocations, and what each event did to them.
struct BlockLives {
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

    std::vector<BlockLife> lives = {};
    std::vector<std::uint32_t> blockOf = {}; ///< by event: the block that begins or ends with it, or kNone
};

/// \param older   allocations that only say what was there before the events: the first of the lives
/// \param events  of one run, in time order
/// O(n).
BlockLives blockLives(std::span<const AllocEvent> older, std::span<const AllocEvent> events,
                      DeviceIndex device);

} // namespace tilescope::analysis
