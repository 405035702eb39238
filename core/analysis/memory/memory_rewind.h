#pragma once

#include "core/model/memory.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// The state of a caching allocator at an instant: its segments, and the blocks that fill them, by address.
struct MemoryStock {
    std::vector<MemorySegment> segments = {};
    std::vector<MemoryBlock> blocks = {};
    /// Events that contradict the later state: allocations missing there, frees of what still exists.
    std::int64_t inconsistent = 0;
};

/// Computes the state of the allocator before `events` from the state after them, by undoing them in reverse.
///
/// A block that the events freed is assumed to have the requested size with rounding, or to end at the start
/// of a later neighbour. The space between blocks was free. A block that waited for its free to complete has
/// no bytes.
/// \param after   segments and blocks of one device; names of blocks that outlive the events are kept
/// \param events  of that device, in time order
/// O(n log n).
MemoryStock memoryBefore(const MemoryStock& after, std::span<const AllocEvent> events);

} // namespace tilescope::analysis
