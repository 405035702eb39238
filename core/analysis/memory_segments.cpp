#include "core/analysis/memory_segments.h"

#include <algorithm>
#include <iterator>

namespace tilescope::analysis {

namespace {

constexpr std::int64_t kSmallestBlock = 512;
constexpr std::int64_t kSmallestLargeRest = 1 << 20; ///< a rest must be larger to be split off
constexpr std::int64_t kSmallSegment = 2 << 20;

std::int64_t rounded(std::int64_t bytes)
{
    return std::max((bytes + kSmallestBlock - 1) / kSmallestBlock, std::int64_t{1}) * kSmallestBlock;
}

bool isSplit(std::int64_t rest, bool isLarge)
{
    return isLarge ? rest > kSmallestLargeRest : rest >= kSmallestBlock;
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

/// Adds what a segment holds to the sums, or takes it away.
void SegmentMap::count(const Segment& segment, int sign)
{
    std::int64_t requested = 0;
    std::int64_t allocated = 0;
    for (const auto& [address, block] : segment.blocks)
        if (block.state == PlacedBlock::State::Allocated) {
            requested += block.bytes;
            allocated += block.size;
        }
    use_.requested += sign * requested;
    use_.rounding += sign * (allocated - requested);
    (segment.used > 0 ? use_.freeInUse : use_.freeSegments) += sign * (segment.info.bytes - allocated);
}

SegmentMap::Segment* SegmentMap::segmentOf(std::uint64_t address)
{
    const auto after = segments_.upper_bound(address);
    if (after == segments_.begin())
        return nullptr;
    Segment& segment = std::prev(after)->second;
    return address < segment.info.address + static_cast<std::uint64_t>(segment.info.bytes) ? &segment
                                                                                           : nullptr;
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
    case AllocAction::SegmentUnmap:
        return removeSegment(event);
    case AllocAction::Snapshot:
    case AllocAction::Oom:
        return;
    }
}

void SegmentMap::allocate(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    const auto found = segment ? segment->blocks.find(event.address) : decltype(segment->blocks.find(0)){};
    if (!segment || found == segment->blocks.end() || found->second.state != PlacedBlock::State::Free) {
        ++inconsistent_;
        return;
    }
    PlacedBlock& block = found->second;
    const std::int64_t wanted = rounded(event.bytes);
    const std::int64_t rest = block.size - wanted;
    if (rest < 0) {
        ++inconsistent_;
        return;
    }
    if (isSplit(rest, segment->info.isLarge)) {
        block.size = wanted;
        const std::uint64_t address = block.address + static_cast<std::uint64_t>(wanted);
        segment->blocks[address] = {address, rest, 0, PlacedBlock::State::Free};
    }
    if (segment->used == 0) {
        use_.freeSegments -= segment->info.bytes;
        use_.freeInUse += segment->info.bytes;
    }
    segment->used += block.size;
    block.bytes = event.bytes;
    block.state = PlacedBlock::State::Allocated;
    use_.requested += block.bytes;
    use_.rounding += block.size - block.bytes;
    use_.freeInUse -= block.size;
}

void SegmentMap::requestFree(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    const auto found = segment ? segment->blocks.find(event.address) : decltype(segment->blocks.find(0)){};
    if (!segment || found == segment->blocks.end() || found->second.state != PlacedBlock::State::Allocated) {
        ++inconsistent_;
        return;
    }
    PlacedBlock& block = found->second;
    use_.requested -= block.bytes;
    use_.rounding -= block.size - block.bytes;
    use_.freeInUse += block.size;
    block.bytes = 0;
    block.state = PlacedBlock::State::Pending;
}

void SegmentMap::completeFree(const AllocEvent& event)
{
    Segment* segment = segmentOf(event.address);
    if (!segment || !segment->blocks.contains(event.address)) {
        ++inconsistent_;
        return;
    }
    auto found = segment->blocks.find(event.address);
    if (found->second.state == PlacedBlock::State::Allocated)
        requestFree(event);
    if (found->second.state != PlacedBlock::State::Pending) {
        ++inconsistent_;
        return;
    }
    segment->used -= found->second.size;
    found->second.state = PlacedBlock::State::Free;
    const auto joinNext = [&](auto block) {
        const auto next = std::next(block);
        if (next == segment->blocks.end() || next->second.state != PlacedBlock::State::Free)
            return;
        block->second.size += next->second.size;
        segment->blocks.erase(next);
    };
    joinNext(found);
    if (found != segment->blocks.begin())
        if (const auto before = std::prev(found); before->second.state == PlacedBlock::State::Free)
            joinNext(before);
    if (segment->used == 0) {
        use_.freeInUse -= segment->info.bytes;
        use_.freeSegments += segment->info.bytes;
    }
}

void SegmentMap::addSegment(const AllocEvent& event)
{
    Segment segment;
    segment.info = {.time = event.time,
                    .device = event.device,
                    .address = event.address,
                    .bytes = event.bytes,
                    .stream = event.stream,
                    .pool = event.pool,
                    .isLarge = event.bytes != kSmallSegment};
    segment.blocks[event.address] = {event.address, event.bytes, 0, PlacedBlock::State::Free};
    if (!segments_.emplace(event.address, std::move(segment)).second) {
        ++inconsistent_;
        return;
    }
    use_.freeSegments += event.bytes;
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
