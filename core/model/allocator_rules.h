#pragma once

#include <algorithm>
#include <cstdint>

namespace tilescope {

/// The default rules of LibTorch's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp), in bytes.
struct AllocatorRules {
    static constexpr std::int64_t kSmallestBlock = 512;     ///< sizes are multiples of it
    static constexpr std::int64_t kSmallBlocks = 1 << 20;   ///< blocks up to this size are in small segments
    static constexpr std::int64_t kSmallSegment = 2 << 20;  ///< also the small page of an expandable segment
    static constexpr std::int64_t kLargeSegment = 20 << 20; ///< also the large page of an expandable segment

    static constexpr std::int64_t roundedUp(std::int64_t bytes, std::int64_t unit)
    {
        return (bytes + unit - 1) / unit * unit;
    }
    /// The size of a block for a request.
    static constexpr std::int64_t blockSize(std::int64_t bytes)
    {
        return std::max(kSmallestBlock, roundedUp(bytes, kSmallestBlock));
    }
    /// The size of a new segment for a block: from 10 MiB on, a block gets its own segment.
    static constexpr std::int64_t segmentFor(std::int64_t blockSize)
    {
        if (blockSize <= kSmallBlocks)
            return kSmallSegment;
        return blockSize < (10 << 20) ? kLargeSegment : roundedUp(blockSize, 2 << 20);
    }
    /// Whether the rest of a free block is split off.
    static constexpr bool isSplit(std::int64_t rest, bool isLarge)
    {
        return isLarge ? rest > kSmallBlocks : rest >= kSmallestBlock;
    }
};

} // namespace tilescope
