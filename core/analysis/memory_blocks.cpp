#include "core/analysis/memory_blocks.h"

#include <unordered_map>

namespace tilescope::analysis {

std::vector<BlockLife> blockLives(std::span<const AllocEvent> events, DeviceIndex device, std::size_t older)
{
    std::vector<BlockLife> lives;
    std::unordered_map<std::uint64_t, std::size_t> live; // address to index into lives
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocEvent& event = events[i];
        if (event.device != device)
            continue;
        if (event.action == AllocAction::Alloc) {
            live[event.address] = lives.size();
            lives.push_back({.address = event.address,
                             .bytes = event.bytes,
                             .begin = i < older ? Timestamp::min() : event.time,
                             .event = i});
        } else if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted) {
            // CUDA says it twice; the first counts.
            if (const auto found = live.find(event.address); found != live.end()) {
                lives[found->second].end = event.time;
                live.erase(found);
            }
        }
    }
    return lives;
}

} // namespace tilescope::analysis
