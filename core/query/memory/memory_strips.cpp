#include "core/query/memory/memory_strips.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

std::vector<MemoryStrip> memoryStrips(const MemoryHistory& history, std::int64_t time)
{
    std::unordered_map<std::uint64_t, std::uint32_t> blocks;
    history.eachAliveWithin(time, time, [&](std::uint32_t block) {
        blocks.insert_or_assign(history.blocks[block].address, block);
    });
    const analysis::SegmentMap map = history.segmentsAt(time);
    std::vector<MemoryStrip> strips;
    for (const MemorySegment& segment : map.segments()) {
        MemoryStrip& strip = strips.emplace_back();
        strip.segment = segment;
        for (const analysis::PlacedBlock& placed : map.blocksOf(segment)) {
            const bool isFree = placed.state == analysis::PlacedBlock::State::Free;
            const auto found = isFree ? blocks.end() : blocks.find(placed.address);
            strip.parts.push_back({static_cast<std::int64_t>(placed.address - segment.address), placed.size,
                                   placed.state,
                                   found == blocks.end() ? std::nullopt : std::optional(found->second)});
            strip.used += isFree ? 0 : placed.size;
            strip.largestFree = std::max(strip.largestFree, isFree ? placed.size : 0);
        }
    }
    return strips;
}

} // namespace tilescope::query
