#include "core/analysis/memory/memory_blocks.h"

#include <unordered_map>

namespace tilescope::analysis {

BlockLives blockLives(std::span<const AllocEvent> older, std::span<const AllocEvent> events,
                      DeviceIndex device)
{
    BlockLives result;
    std::unordered_map<std::uint64_t, std::uint32_t> live; // address to index into lives
    const auto begin = [&](const AllocEvent& event, Timestamp time, std::size_t index) {
        const auto block = static_cast<std::uint32_t>(result.lives.size());
        live[event.address] = block;
        result.lives.push_back(
            {.address = event.address, .bytes = event.bytes, .begin = time, .event = index});
        return block;
    };
    for (std::size_t i = 0; i < older.size(); ++i)
        begin(older[i], Timestamp::min(), i);
    result.blockOf.assign(events.size(), BlockLives::kNone);
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocEvent& event = events[i];
        if (event.device != device)
            continue;
        if (event.action == AllocAction::Alloc) {
            result.blockOf[i] = begin(event, event.time, i);
        } else if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted) {
            // CUDA says it twice; the first counts.
            if (const auto found = live.find(event.address); found != live.end()) {
                result.blockOf[i] = found->second;
                result.lives[found->second].end = event.time;
                live.erase(found);
            }
        }
    }
    return result;
}

} // namespace tilescope::analysis
