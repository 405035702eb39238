#pragma once

#include "core/query/memory/memory_history.h"

#include <optional>

namespace tilescope::query {

/// A segment at an instant and its contents, from its first to its last byte.
struct MemoryStrip {
    struct Part {
        std::int64_t offset = 0; ///< from the segment's address
        std::int64_t size = 0;
        analysis::PlacedBlock::State state = analysis::PlacedBlock::State::Free;
        std::optional<std::uint32_t> block =
            {}; ///< of the history; none if the memory is free or its block unknown
    };
    MemorySegment segment;
    std::vector<Part> parts;
    std::int64_t used = 0;        ///< bytes that are not free
    std::int64_t largestFree = 0; ///< bytes
};

/// By address; none on a CPU. O(events until then).
std::vector<MemoryStrip> memoryStrips(const MemoryHistory& history, std::int64_t time);

} // namespace tilescope::query
