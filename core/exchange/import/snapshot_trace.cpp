#include "core/exchange/import/snapshot_trace.h"

#include "core/analysis/memory/block_lives.h"
#include "core/analysis/memory/memory_segments.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::exchange {

namespace {

/// Evidence that a trace lacks certain actions.
struct Lacking {
    bool requests = false;
    bool completions = false;
    bool allocations = false;
};

Lacking lackingIn(const std::vector<AllocEvent>& events)
{
    std::int64_t allocations = 0;
    std::int64_t requests = 0;
    std::int64_t completions = 0;
    bool completesUnasked = false; // the free of a block that the trace allocated
    bool freesAgain = false;
    analysis::BlockLives<char> lives;
    std::unordered_set<std::uint64_t> asked;
    std::unordered_set<std::uint64_t> freed;
    for (const AllocEvent& event : events) {
        const bool closes = lives.apply(event, [] { return char{}; }).has_value();
        if (event.action == AllocAction::Alloc) {
            ++allocations;
        } else if (event.action == AllocAction::FreeRequested) {
            ++requests;
            freesAgain = !asked.insert(event.address).second || freesAgain;
        } else if (event.action == AllocAction::FreeCompleted) {
            ++completions;
            completesUnasked = closes || completesUnasked;
            freesAgain = !freed.insert(event.address).second || freesAgain;
        }
    }
    return {.requests = requests == 0 && completesUnasked,
            .completions = completions == 0 && requests > 0,
            .allocations = allocations == 0 && freesAgain};
}

/// Blocks whose free was requested but not completed.
std::unordered_set<std::uint64_t> waitingIn(const analysis::MemoryStock& stock)
{
    std::unordered_set<std::uint64_t> waiting;
    for (const MemoryBlock& block : stock.blocks)
        if (!block.isFree && block.bytes == 0)
            waiting.insert(block.address);
    return waiting;
}

} // namespace

SkippedActions addSkipped(std::vector<AllocEvent>& events, const analysis::MemoryStock& after)
{
    const Lacking lacking = lackingIn(events);
    SkippedActions skipped{.lacksAllocations = lacking.allocations};
    if (lacking.allocations || (!lacking.requests && !lacking.completions))
        return skipped;
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t i = 0; i < events.size(); ++i)
        last[events[i].address] = i;
    const std::unordered_set<std::uint64_t> waiting = waitingIn(after);
    std::vector<AllocEvent> filled;
    filled.reserve(events.size() * 3 / 2);
    const auto add = [&](AllocEvent event, AllocAction action) {
        event.action = action;
        if (!filled.empty())
            event.time = std::max(event.time, filled.back().time + Nanoseconds(1));
        filled.push_back(event);
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocEvent& event = events[i];
        if (event.action == AllocAction::FreeCompleted && lacking.requests) {
            add(event, AllocAction::FreeRequested);
            ++skipped.requests;
        }
        add(event, event.action);
        const bool waits = last[event.address] == i && waiting.contains(event.address);
        if (event.action == AllocAction::FreeRequested && lacking.completions && !waits) {
            add(event, AllocAction::FreeCompleted);
            ++skipped.completions;
        }
    }
    // A block that waits for its free at the end, without a recorded request: the request is placed at the
    // end.
    if (lacking.requests)
        for (std::size_t i = 0; i < events.size(); ++i)
            if (events[i].action == AllocAction::Alloc && last[events[i].address] == i &&
                waiting.contains(events[i].address)) {
                AllocEvent request = events[i];
                request.time = filled.back().time;
                add(request, AllocAction::FreeRequested);
                ++skipped.requests;
            }
    events = std::move(filled);
    return skipped;
}

analysis::MemoryStock countThrough(std::vector<AllocEvent>& events, const analysis::MemoryStock& after)
{
    analysis::MemoryStock before = analysis::memoryBefore(after, events);
    analysis::BlockLives<std::int64_t> lives; // bytes
    std::int64_t allocated = 0;
    for (const MemoryBlock& block : before.blocks) {
        lives.open(block.address, block.bytes);
        allocated += block.bytes;
    }
    analysis::SegmentMap map(before.segments, before.blocks);
    for (AllocEvent& event : events) {
        allocated += event.action == AllocAction::Alloc ? event.bytes : 0;
        // Subtracts at most the bytes of the block, even if the trace lacks actions.
        allocated -= lives.apply(event, [&] { return event.bytes; }).value_or(0);
        map.apply(event);
        event.allocated = allocated;
        // A CPU's allocator has no segments: reserved equals allocated.
        event.reserved = std::max(map.use().reserved(), allocated);
    }
    before.inconsistent = std::max(before.inconsistent, map.inconsistent());
    return before;
}

} // namespace tilescope::exchange
