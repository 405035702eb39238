#include "core/analysis/memory/memory_curve.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

/// Follows blocks by address from event to event.
///
/// CUDA frees in two events (asked for, done) and counts the memory as free from the first; a CPU allocator
/// may give only one of them. Whichever comes first ends the block.
class BlockFollower {
public:
    template <class OnAlloc, class OnFree>
    void follow(const AllocEvent& event, std::size_t index, OnAlloc&& onAlloc, OnFree&& onFree)
    {
        switch (event.action) {
        case AllocAction::Alloc:
            live_[event.address] = index;
            onAlloc();
            break;
        case AllocAction::FreeRequested:
        case AllocAction::FreeCompleted:
            if (const auto block = live_.find(event.address); block != live_.end()) {
                onFree(block->second);
                live_.erase(block);
            }
            break;
        default:
            break;
        }
    }

    const std::unordered_map<std::uint64_t, std::size_t>& live() const { return live_; }

private:
    std::unordered_map<std::uint64_t, std::size_t> live_; // address to index of the allocation
};

/// Whether the event's `allocated` and `reserved` say what was in use: an Oom's do not have to.
bool countsMemory(const AllocEvent& event, DeviceIndex device)
{
    return event.device == device && event.action != AllocAction::Oom;
}

} // namespace

std::optional<MemoryPeak> memoryPeak(std::span<const AllocEvent> events, DeviceIndex device)
{
    std::optional<MemoryPeak> peak;
    for (const AllocEvent& event : events) {
        if (!countsMemory(event, device))
            continue;
        if (!peak || event.allocated > peak->allocated.count)
            peak = MemoryPeak{event.time, {event.allocated}, {event.reserved}};
        // The last of the blocks from before the trace is as high as the count of them all, which knows this.
        else if (event.allocated == peak->allocated.count && event.time == peak->time)
            peak->reserved.count = std::max(peak->reserved.count, event.reserved);
    }
    return peak;
}

std::optional<DeviceIndex> mainMemoryDevice(std::span<const AllocEvent> events)
{
    std::optional<DeviceIndex> device;
    std::int64_t highest = 0;
    for (const AllocEvent& event : events)
        if (event.action != AllocAction::Oom && (!device || event.allocated > highest)) {
            device = event.device;
            highest = event.allocated;
        }
    return device;
}

LiveSet liveAt(std::span<const AllocEvent> events, DeviceIndex device, Timestamp time)
{
    BlockFollower follower;
    std::int64_t allocated = 0;
    for (std::size_t i = 0; i < events.size() && events[i].time <= time; ++i) {
        if (!countsMemory(events[i], device))
            continue;
        follower.follow(
            events[i], i, [] {}, [](std::size_t) {});
        allocated = events[i].allocated;
    }
    LiveSet set;
    std::int64_t followed = 0;
    for (const auto& [address, event] : follower.live()) {
        set.blocks.push_back({address, {events[event].bytes}, event});
        followed += events[event].bytes;
    }
    set.untraced = {allocated - followed};
    std::sort(set.blocks.begin(), set.blocks.end(), [](const LiveBlock& a, const LiveBlock& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.event < b.event;
    });
    return set;
}

std::vector<LiveBlock> everAllocated(std::span<const AllocEvent> events, DeviceIndex device)
{
    std::vector<LiveBlock> blocks;
    for (std::size_t i = 0; i < events.size(); ++i)
        if (events[i].device == device && events[i].action == AllocAction::Alloc)
            blocks.push_back({events[i].address, {events[i].bytes}, i});
    std::ranges::stable_sort(blocks, std::ranges::greater{}, &LiveBlock::bytes);
    return blocks;
}

MemoryGroups memoryGroups(std::span<const AllocEvent> events, DeviceIndex device,
                          const std::function<std::uint32_t(const AllocEvent&)>& groupOf, std::size_t older)
{
    struct Running {
        MemoryGroup group;
        Bytes live{};
    };
    std::unordered_map<std::uint32_t, Running> groups;
    MemoryGroups result;
    result.peak = memoryPeak(events, device).value_or(MemoryPeak{});
    bool peakPassed = false;
    BlockFollower follower;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const AllocEvent& event = events[i];
        if (!countsMemory(event, device))
            continue;
        follower.follow(
            event, i,
            [&] {
                Running& running = groups[groupOf(event)];
                running.group.allocations += i < older ? 0 : 1;
                running.live += {event.bytes};
                running.group.max = std::max(running.group.max, running.live);
            },
            [&](std::size_t allocation) {
                groups[groupOf(events[allocation])].live -= {events[allocation].bytes};
            });
        if (!peakPassed && event.allocated == result.peak.allocated.count) {
            peakPassed = true;
            for (auto& [key, running] : groups)
                running.group.atPeak = running.live;
        }
    }
    result.untraced = result.peak.allocated;
    for (auto& [key, running] : groups) {
        running.group.group = key;
        result.untraced -= running.group.atPeak;
        result.groups.push_back(running.group);
    }
    std::sort(result.groups.begin(), result.groups.end(), [](const MemoryGroup& a, const MemoryGroup& b) {
        if (a.atPeak != b.atPeak)
            return a.atPeak > b.atPeak;
        return a.max != b.max ? a.max > b.max : a.group < b.group;
    });
    return result;
}

std::vector<AllocEvent> asAllocations(std::span<const MemoryBlock> blocks)
{
    std::vector<AllocEvent> events;
    events.reserve(blocks.size());
    std::int64_t allocated = 0;
    for (const MemoryBlock& block : blocks) {
        if (block.isFree)
            continue;
        allocated += block.bytes;
        events.push_back({.time = block.time,
                          .device = block.device,
                          .address = block.address,
                          .bytes = block.bytes,
                          .allocated = allocated});
    }
    return events;
}

} // namespace tilescope::analysis
