#include "core/predict/caching_allocator.h"

#include "core/model/allocator_rules.h"

#include <algorithm>

namespace tilescope::predict {

CachingAllocator::BlockId CachingAllocator::allocate(std::int64_t bytes)
{
    const std::int64_t size = AllocatorRules::blockSize(bytes);
    const bool isLarge = size > AllocatorRules::kSmallBlocks;
    BlockId block = takeFree(size, isLarge);
    if (block == kNone)
        block = newSegment(size, isLarge);
    if (block == kNone) {
        giveBackSegments();
        block = newSegment(size, isLarge);
    }
    if (block == kNone)
        throw OutOfMemory{bytes, allocated_, reserved_};
    split(block, size);
    blocks_[block].isFree = false;
    allocated_ += blocks_[block].size;
    return block;
}

void CachingAllocator::free(BlockId block)
{
    allocated_ -= blocks_[block].size;
    blocks_[block].isFree = true;
    for (const BlockId neighbour : {blocks_[block].previous, blocks_[block].next})
        if (neighbour != kNone && blocks_[neighbour].isFree)
            absorb(block, neighbour);
    const Block& whole = blocks_[block];
    freeBlocks(whole.isLarge, whole.isOfGraph).emplace(whole.size, whole.address, block);
}

CachingAllocator::BlockId CachingAllocator::newBlock(const Block& block)
{
    if (unused_.empty()) {
        blocks_.push_back(block);
        return static_cast<BlockId>(blocks_.size() - 1);
    }
    const BlockId place = unused_.back();
    unused_.pop_back();
    blocks_[place] = block;
    return place;
}

CachingAllocator::BlockId CachingAllocator::newSegment(std::int64_t size, bool isLarge)
{
    const std::int64_t bytes = AllocatorRules::segmentFor(size);
    if (bytes > limit_ - reserved_)
        return kNone;
    reserved_ += bytes;
    const BlockId block =
        newBlock({.address = nextAddress_, .size = bytes, .isLarge = isLarge, .isOfGraph = isCapturing_});
    nextAddress_ += bytes;
    return block;
}

CachingAllocator::BlockId CachingAllocator::takeFree(std::int64_t size, bool isLarge)
{
    FreeBlocks& candidates = freeBlocks(isLarge, isCapturing_);
    const auto found = candidates.lower_bound({size, -1, kNone});
    if (found == candidates.end())
        return kNone;
    const BlockId block = std::get<BlockId>(*found);
    candidates.erase(found);
    return block;
}

void CachingAllocator::split(BlockId block, std::int64_t size)
{
    const Block whole = blocks_[block];
    const std::int64_t left = whole.size - size;
    if (!AllocatorRules::isSplit(left, whole.isLarge))
        return;
    const BlockId rest = newBlock({.address = whole.address + size,
                                   .size = left,
                                   .previous = block,
                                   .next = whole.next,
                                   .isLarge = whole.isLarge,
                                   .isOfGraph = whole.isOfGraph});
    if (whole.next != kNone)
        blocks_[whole.next].previous = rest;
    blocks_[block].next = rest;
    blocks_[block].size = size;
    freeBlocks(whole.isLarge, whole.isOfGraph).emplace(left, whole.address + size, rest);
}

// Returns unused segments to the driver, as the allocator does before it fails.
void CachingAllocator::giveBackSegments()
{
    for (FreeBlocks* candidates : {&freeBlocks(false, false), &freeBlocks(true, false)})
        for (auto entry = candidates->begin(); entry != candidates->end();) {
            const BlockId block = std::get<BlockId>(*entry);
            if (blocks_[block].previous != kNone || blocks_[block].next != kNone) {
                ++entry;
                continue;
            }
            reserved_ -= blocks_[block].size;
            unused_.push_back(block);
            entry = candidates->erase(entry);
        }
}

void CachingAllocator::absorb(BlockId block, BlockId neighbour)
{
    Block& whole = blocks_[block];
    const Block other = blocks_[neighbour];
    freeBlocks(other.isLarge, other.isOfGraph).erase({other.size, other.address, neighbour});
    if (other.address < whole.address) {
        whole.address = other.address;
        whole.previous = other.previous;
        if (other.previous != kNone)
            blocks_[other.previous].next = block;
    } else {
        whole.next = other.next;
        if (other.next != kNone)
            blocks_[other.next].previous = block;
    }
    whole.size += other.size;
    unused_.push_back(neighbour);
}

} // namespace tilescope::predict
