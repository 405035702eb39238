#include "core/analysis/memory/memory_rewind.h"

#include "core/model/allocator_rules.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace tilescope::analysis {

namespace {

/// Undoes events, in reverse order.
class Rewinder {
public:
    explicit Rewinder(const MemoryStock& after)
    {
        for (const MemorySegment& segment : after.segments)
            segments_[segment.address] = segment;
        for (const MemoryBlock& block : after.blocks)
            if (!block.isFree)
                blocks_[block.address] = block;
    }

    void undo(const AllocEvent& event)
    {
        switch (event.action) {
        case AllocAction::Alloc:
            inconsistent_ += blocks_.erase(event.address) == 0 ? 1 : 0;
            return endBefore(event.address);
        case AllocAction::FreeRequested:
            return undoRequest(event);
        case AllocAction::FreeCompleted:
            // Before this event, the block waited to be freed; undoing the request gives it its bytes back.
            inconsistent_ += blocks_.contains(event.address) ? 1 : 0;
            blocks_[event.address] = blockOf(event, 0);
            return;
        case AllocAction::SegmentAlloc:
            inconsistent_ += segments_.erase(event.address) == 0 ? 1 : 0;
            return;
        case AllocAction::SegmentFree:
            return add(segmentOf(event));
        case AllocAction::SegmentMap:
            return cut(event);
        case AllocAction::SegmentUnmap:
            return join(segmentOf(event));
        case AllocAction::Snapshot:
        case AllocAction::Oom:
            return;
        }
    }

    MemoryStock stock(Timestamp time)
    {
        MemoryStock stock;
        auto block = blocks_.begin();
        const auto outside = [&](std::uint64_t until) {
            for (; block != blocks_.end() && block->first < until; ++block, ++inconsistent_)
                stock.blocks.push_back(block->second);
        };
        for (const auto& entry : segments_) {
            const MemorySegment& segment = entry.second;
            outside(segment.address);
            const std::uint64_t end = endOf(segment);
            std::uint64_t filled = segment.address;
            const auto fillUntil = [&](std::uint64_t until) {
                if (filled < until)
                    stock.blocks.push_back({.device = segment.device,
                                            .address = filled,
                                            .size = static_cast<std::int64_t>(until - filled),
                                            .isFree = true});
                filled = until;
            };
            for (; block != blocks_.end() && block->first < end; ++block) {
                const auto next = std::next(block);
                const std::uint64_t until = next == blocks_.end() ? end : std::min(end, next->first);
                fillUntil(block->first);
                MemoryBlock placed = block->second;
                placed.size = std::min(placed.size, static_cast<std::int64_t>(until - placed.address));
                filled = placed.address + static_cast<std::uint64_t>(placed.size);
                stock.blocks.push_back(std::move(placed));
            }
            fillUntil(end);
            stock.segments.push_back(segment);
        }
        for (; block != blocks_.end(); ++block, ++inconsistent_)
            stock.blocks.push_back(block->second);
        for (MemoryBlock& placed : stock.blocks)
            placed.time = time;
        for (MemorySegment& segment : stock.segments)
            segment.time = time;
        stock.inconsistent = inconsistent_;
        return stock;
    }

private:
    static MemoryBlock blockOf(const AllocEvent& event, std::int64_t bytes)
    {
        return {.device = event.device,
                .address = event.address,
                .bytes = bytes,
                .size = AllocatorRules::blockSize(event.bytes)};
    }

    static MemorySegment segmentOf(const AllocEvent& event)
    {
        return {.device = event.device,
                .address = event.address,
                .bytes = event.bytes,
                .stream = event.stream,
                .pool = event.pool,
                .isLarge = event.bytes != AllocatorRules::kSmallSegment,
                .isExpandable = event.action == AllocAction::SegmentUnmap};
    }

    void undoRequest(const AllocEvent& event)
    {
        const auto [block, isNew] = blocks_.try_emplace(event.address, blockOf(event, event.bytes));
        if (isNew)
            return; // its allocator does not report when a free is complete
        inconsistent_ += block->second.bytes == 0 ? 0 : 1;
        block->second.bytes = event.bytes;
    }

    /// A free block began at `address`, so the block before it in the same segment ended there: if that block
    /// had been free, both would have been one block.
    void endBefore(std::uint64_t address)
    {
        auto segment = segments_.upper_bound(address);
        auto block = blocks_.lower_bound(address);
        if (segment == segments_.begin() || block == blocks_.begin())
            return;
        --segment;
        --block;
        if (block->first >= segment->first)
            block->second.size = static_cast<std::int64_t>(address - block->first);
    }

    void add(const MemorySegment& segment)
    {
        inconsistent_ += segments_.try_emplace(segment.address, segment).second ? 0 : 1;
    }

    static std::uint64_t endOf(const MemorySegment& segment)
    {
        return segment.address + static_cast<std::uint64_t>(segment.bytes);
    }

    /// Removes a part that was mapped into an expandable segment.
    void cut(const AllocEvent& event)
    {
        const std::uint64_t end = event.address + static_cast<std::uint64_t>(event.bytes);
        auto found = segments_.upper_bound(event.address);
        if (found == segments_.begin() || endOf((--found)->second) < end) {
            ++inconsistent_;
            return;
        }
        const MemorySegment whole = found->second;
        segments_.erase(found);
        if (whole.address < event.address) {
            MemorySegment front = whole;
            front.bytes = static_cast<std::int64_t>(event.address - whole.address);
            segments_[front.address] = front;
        }
        if (end < endOf(whole)) {
            MemorySegment back = whole;
            back.address = end;
            back.bytes = static_cast<std::int64_t>(endOf(whole) - end);
            segments_[back.address] = back;
        }
    }

    /// Puts back a part that was unmapped; neighbours are one segment again.
    void join(MemorySegment part)
    {
        if (const auto next = segments_.find(endOf(part));
            next != segments_.end() && next->second.isExpandable) {
            part.bytes += next->second.bytes;
            part.isLarge = next->second.isLarge;
            segments_.erase(next);
        }
        const auto after = segments_.upper_bound(part.address);
        if (after != segments_.begin() && std::prev(after)->second.isExpandable &&
            endOf(std::prev(after)->second) == part.address)
            std::prev(after)->second.bytes += part.bytes;
        else
            add(part);
    }

    std::map<std::uint64_t, MemorySegment> segments_; // by address
    std::map<std::uint64_t, MemoryBlock> blocks_;     // blocks that are not free, by address
    std::int64_t inconsistent_ = 0;
};

} // namespace

MemoryStock memoryBefore(const MemoryStock& after, std::span<const AllocEvent> events)
{
    Rewinder rewinder(after);
    for (auto event = events.rbegin(); event != events.rend(); ++event)
        rewinder.undo(*event);
    return rewinder.stock(events.empty() ? Timestamp{} : events.front().time);
}

} // namespace tilescope::analysis
