#include "core/analysis/memory/memory_segments.h"

#include "core/model/allocator_rules.h"

#include <algorithm>
#include <iterator>

namespace tilescope::analysis {

namespace {

bool isSplit(std::int64_t rest, const MemorySegment& segment)
{
    return AllocatorRules::isSplit(rest, segment.isLarge && !segment.isExpandable);
}

std::uint64_t endOf(const MemorySegment& segment)
{
    return segment.address + static_cast<std::uint64_t>(segment.bytes);
}

std::uint64_t endOf(const PlacedBlock& block)
{
    return block.address + static_cast<std::uint64_t>(block.size);
}

/// Bytes of the pages of an expandable segment that are entirely within `block`. Mapped ranges begin at a
/// page boundary.
std::int64_t wholePages(const MemorySegment& segment, const PlacedBlock& block)
{
    const std::int64_t page = segment.isLarge ? AllocatorRules::kLargeSegment : AllocatorRules::kSmallSegment;
    const auto from = static_cast<std::int64_t>(block.address - segment.address);
    const std::int64_t first = (from + page - 1) / page;
    const std::int64_t last = (from + block.size) / page;
    return std::max<std::int64_t>(0, last - first) * page;
}

} // namespace

bool canFollow(std::span<const MemorySegment> segments, std::span<const AllocEvent> events)
{
    if (!segments.empty() || events.empty())
        return !segments.empty();
    const AllocEvent& first = events.front();
    return (first.action == AllocAction::SegmentAlloc || first.action == AllocAction::SegmentMap) &&
           first.reserved == first.bytes;
}

SegmentMap::SegmentMap(std::span<const MemorySegment> segments, std::span<const MemoryBlock> blocks)
{
    for (const MemorySegment& segment : segments)
        segments_[segment.address].info = segment;
    for (const MemoryBlock& block : blocks) {
        Segment* segment = segmentOf(block.address);
        if (!segment) {
            ++inconsistent_;
            continue;
        }
        const bool isPending = !block.isFree && block.bytes == 0;
        segment->blocks[block.address] = {block.address, block.size, block.bytes,
                                          block.isFree ? PlacedBlock::State::Free
                                          : isPending  ? PlacedBlock::State::Pending
                                                       : PlacedBlock::State::Allocated};
        segment->used += block.isFree ? 0 : block.size;
    }
    for (const auto& [address, segment] : segments_)
        count(segment, 1);
}

/// Adds a block to the sums (sign 1) or subtracts it (sign -1).
void SegmentMap::count(const Segment& segment, const PlacedBlock& block, int sign)
{
    switch (block.state) {
    case PlacedBlock::State::Allocated:
        use_.requested += sign * block.bytes;
        use_.rounding += sign * (block.size - block.bytes);
        return;
    case PlacedBlock::State::Pending:
        use_.freeInUse += sign * block.size;
        return;
    case PlacedBlock::State::Free:
        const std::int64_t back = segment.info.isExpandable ? wholePages(segment.info, block)
                                  : segment.used == 0       ? block.size
                                                            : 0;
        use_.freeSegments += sign * back;
        use_.freeInUse += sign * (block.size - back);
        return;
    }
}

void SegmentMap::count(const Segment& segment, int sign)
{
    for (const auto& [address, block] : segment.blocks)
        count(segment, block, sign);
}

/// Free bytes of a segment move from `freeSegments` to `freeInUse` when it gets its first block, and back
/// when it loses its last.
void SegmentMap::addUsed(Segment& segment, std::int64_t bytes)
{
    const bool changes = (segment.used == 0) != (segment.used + bytes == 0);
    if (changes)
        count(segment, -1);
    segment.used += bytes;
    if (changes)
        count(segment, 1);
}

SegmentMap::Segment* SegmentMap::segmentOf(std::uint64_t address)
{
    const auto after = segments_.upper_bound(address);
    if (after == segments_.begin())
        return nullptr;
    Segment& segment = std::prev(after)->second;
    return address < endOf(segment.info) ? &segment : nullptr;
}

void SegmentMap::apply(const AllocEvent& event)
{
    switch (event.action) {
    case AllocAction::Alloc:
        return allocate(event);
    case AllocAction::FreeRequested:
        return requestFree(event);
    case AllocAction::FreeCompleted:
        return completeFree(event);
    case AllocAction::SegmentAlloc:
    case AllocAction::SegmentMap:
        return addSegment(event);
    case AllocAction::SegmentFree:
        return removeSegment(event);
    case AllocAction::SegmentUnmap:
        return unmap(event);
    case AllocAction::Snapshot:
    case AllocAction::Oom:
        return;
    }
}

/// The free block that begins at `address`. If none is known, but the block before it may end there (its size
/// may be smaller or larger than assumed), that size is corrected.
PlacedBlock* SegmentMap::freeBlockAt(Segment& segment, std::uint64_t address)
{
    const auto after = segment.blocks.upper_bound(address);
    if (after == segment.blocks.begin())
        return nullptr;
    const auto found = std::prev(after);
    PlacedBlock& block = found->second;
    if (block.address == address)
        return block.state == PlacedBlock::State::Free ? &block : nullptr;
    if (address >= endOf(block))
        return nullptr;
    const auto skipped = static_cast<std::int64_t>(address - block.address);
    const PlacedBlock rest{address, block.size - skipped, 0, PlacedBlock::State::Free};
    PlacedBlock* taker = &block;
    if (block.state == PlacedBlock::State::Free) {
        if (found == segment.blocks.begin())
            return nullptr;
        taker = &std::prev(found)->second;
        // The block before may have been rounded up to a power of two, so it at most doubles.
        if (taker->state == PlacedBlock::State::Free || skipped >= taker->size)
            return nullptr;
        count(segment, block, -1);
        segment.blocks.erase(found);
    } else if (block.state == PlacedBlock::State::Pending ||
               skipped < AllocatorRules::blockSize(block.bytes)) {
        return nullptr;
    }
    const std::int64_t size = static_cast<std::int64_t>(address - taker->address);
    addUsed(segment, size - taker->size);
    count(segment, *taker, -1);
    taker->size = size;
    count(segment, *taker, 1);
    const auto placed = segment.blocks.emplace(address, rest).first;
    count(segment, rest, 1);
    joinNext(segment, placed);
    return &placed->second;
}

void SegmentMap::allocate(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    PlacedBlock* block = segment ? freeBlockAt(*segment, event.address) : nullptr;
    const std::int64_t wanted = AllocatorRules::blockSize(event.bytes);
    if (!block || block->size < wanted) {
        ++inconsistent_;
        return;
    }
    const std::int64_t rest = block->size - wanted;
    const std::int64_t taken = isSplit(rest, segment->info) ? wanted : block->size;
    addUsed(*segment, taken);
    count(*segment, *block, -1);
    if (taken < block->size) {
        const std::uint64_t address = block->address + static_cast<std::uint64_t>(taken);
        const PlacedBlock left{address, rest, 0, PlacedBlock::State::Free};
        segment->blocks[address] = left;
        count(*segment, left, 1);
    }
    block->size = taken;
    block->bytes = event.bytes;
    block->state = PlacedBlock::State::Allocated;
    count(*segment, *block, 1);
}

void SegmentMap::requestFree(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    const auto found = segment ? segment->blocks.find(event.address) : Blocks::iterator{};
    if (!segment || found == segment->blocks.end() || found->second.state != PlacedBlock::State::Allocated) {
        ++inconsistent_;
        return;
    }
    PlacedBlock& block = found->second;
    count(*segment, block, -1);
    block.bytes = 0;
    block.state = PlacedBlock::State::Pending;
    count(*segment, block, 1);
}

void SegmentMap::completeFree(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    if (!segment || !segment->blocks.contains(event.address)) {
        ++inconsistent_;
        return;
    }
    const auto found = segment->blocks.find(event.address);
    if (found->second.state == PlacedBlock::State::Allocated)
        requestFree(event);
    if (found->second.state != PlacedBlock::State::Pending) {
        ++inconsistent_;
        return;
    }
    const std::int64_t size = found->second.size;
    count(*segment, found->second, -1);
    found->second.state = PlacedBlock::State::Free;
    count(*segment, found->second, 1);
    joinNext(*segment, found);
    if (found != segment->blocks.begin())
        joinNext(*segment, std::prev(found));
    addUsed(*segment, -size);
}

/// Merges a block with the next one if both are free.
void SegmentMap::joinNext(Segment& segment, Blocks::iterator block)
{
    const auto next = std::next(block);
    if (next == segment.blocks.end() || block->second.state != PlacedBlock::State::Free ||
        next->second.state != PlacedBlock::State::Free)
        return;
    count(segment, block->second, -1);
    count(segment, next->second, -1);
    block->second.size += next->second.size;
    segment.blocks.erase(next);
    count(segment, block->second, 1);
}

void SegmentMap::addSegment(const AllocEvent& event)
{
    Segment segment{.info = {.time = event.time,
                             .device = event.device,
                             .address = event.address,
                             .bytes = event.bytes,
                             .stream = event.stream,
                             .pool = event.pool,
                             .isLarge = event.bytes != AllocatorRules::kSmallSegment,
                             .isExpandable = event.action == AllocAction::SegmentMap}};
    segment.blocks[event.address] = {event.address, event.bytes, 0, PlacedBlock::State::Free};
    const auto next = segments_.lower_bound(event.address);
    if (event.bytes <= 0 || segmentOf(event.address) ||
        (next != segments_.end() && next->second.info.address < endOf(segment.info))) {
        ++inconsistent_;
        return;
    }
    const auto added = segments_.emplace(event.address, std::move(segment)).first;
    count(added->second, 1);
    joinSegment(added);
    if (added != segments_.begin())
        joinSegment(std::prev(added));
}

/// Joins an expandable segment with the one that begins at its end.
void SegmentMap::joinSegment(std::map<std::uint64_t, Segment>::iterator first)
{
    const auto second = std::next(first);
    if (second == segments_.end() || !first->second.info.isExpandable || !second->second.info.isExpandable ||
        endOf(first->second.info) != second->second.info.address)
        return;
    Segment& segment = first->second;
    const bool hasSeam = !segment.blocks.empty();
    const auto seam = hasSeam ? std::prev(segment.blocks.end()) : segment.blocks.end();
    count(second->second, -1);
    segment.info.bytes += second->second.info.bytes;
    segment.used += second->second.used;
    segment.blocks.merge(second->second.blocks);
    segments_.erase(second);
    // Whole pages of the second segment are now counted from the start of the first.
    for (auto block = hasSeam ? std::next(seam) : segment.blocks.begin(); block != segment.blocks.end();
         ++block)
        count(segment, block->second, 1);
    if (hasSeam)
        joinNext(segment, seam);
}

void SegmentMap::removeSegment(const AllocEvent& event)
{
    const auto found = segments_.find(event.address);
    if (found == segments_.end()) {
        ++inconsistent_;
        return;
    }
    count(found->second, -1);
    segments_.erase(found);
}

/// Removes pages from a segment; the remains before and after them become two segments.
void SegmentMap::unmap(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    const std::uint64_t end = event.address + static_cast<std::uint64_t>(event.bytes);
    const auto after = segment ? segment->blocks.upper_bound(event.address) : Blocks::iterator{};
    if (!segment || event.bytes <= 0 || after == segment->blocks.begin() ||
        std::prev(after)->second.state != PlacedBlock::State::Free || endOf(std::prev(after)->second) < end) {
        ++inconsistent_;
        return;
    }
    count(*segment, -1);
    const PlacedBlock whole = std::prev(after)->second;
    segment->blocks.erase(std::prev(after));
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
        if (from < to)
            segment->blocks[from] = {from, static_cast<std::int64_t>(to - from), 0, PlacedBlock::State::Free};
    };
    keep(whole.address, event.address);
    keep(end, endOf(whole));
    Segment back{.info = segment->info};
    back.info.address = end;
    back.info.bytes = static_cast<std::int64_t>(endOf(segment->info) - end);
    for (auto block = segment->blocks.lower_bound(end); block != segment->blocks.end();) {
        const std::int64_t used = block->second.state == PlacedBlock::State::Free ? 0 : block->second.size;
        back.used += used;
        segment->used -= used;
        back.blocks.insert(segment->blocks.extract(block++));
    }
    segment->info.bytes = static_cast<std::int64_t>(event.address - segment->info.address);
    count(*segment, 1);
    if (segment->info.bytes == 0)
        segments_.erase(event.address);
    if (back.info.bytes > 0) {
        count(back, 1);
        segments_.emplace(end, std::move(back));
    }
}

std::int64_t SegmentMap::largestFree() const
{
    std::int64_t largest = 0;
    for (const auto& [address, segment] : segments_)
        for (const auto& [place, block] : segment.blocks)
            if (block.state == PlacedBlock::State::Free)
                largest = std::max(largest, block.size);
    return largest;
}

std::vector<MemorySegment> SegmentMap::segments() const
{
    std::vector<MemorySegment> segments;
    for (const auto& [address, segment] : segments_)
        segments.push_back(segment.info);
    return segments;
}

std::vector<PlacedBlock> SegmentMap::blocksOf(const MemorySegment& segment) const
{
    std::vector<PlacedBlock> blocks;
    if (const auto found = segments_.find(segment.address); found != segments_.end())
        for (const auto& [address, block] : found->second.blocks)
            blocks.push_back(block);
    return blocks;
}

} // namespace tilescope::analysis
