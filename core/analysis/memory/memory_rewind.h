#pragma once

#include "core/model/memory.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// What a caching allocator had at an instant: segments, and blocks that fill them, by address.
struct MemoryStock {
    std::vector<MemorySegment> segments = {};
    std::vector<MemoryBlock> blocks = {};
    /// Events that did not fit what came after them: of a block or segment that was not there, or was.
    std::int64_t inconsistent = 0;
};

/// What the allocator had before `events`, from what it had after them: they are followed backwards.
///
/// A block that was freed among them reached to where a later one was put behind it, else it is taken to have
/// had the size that rounding what was asked for gives; what lies between blocks was free. A block that
/// waited for its free to complete has no bytes.
/// \param after   segments and blocks of one device; names of blocks that outlive the events are kept
/// \param events  of that device, in time order
/// O(n log n).
MemoryStock memoryBefore(const MemoryStock& after, std::span<const AllocEvent> events);

} // namespace tilescope::analysis
