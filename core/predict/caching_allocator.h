#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

namespace tilescope::predict {

/// What an allocation would have failed with.
struct OutOfMemory {
    std::int64_t asked = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

/// PyTorch's caching allocator on one device and one stream, without any memory: the same rounding, the same
/// segments, the same choice of blocks (c10/cuda/CUDACachingAllocator.cpp, default settings).
///
/// Sizes are rounded up to 512 B. Up to 1 MiB a block is cut from a segment of 2 MiB, up to 10 MiB from one
/// of 20 MiB, and beyond that from one of its own size, rounded up to 2 MiB. The smallest free block that
/// fits is taken; what is left of it stays whole, and counts as allocated, where it is at most 1 MiB (512 B
/// among the small ones). Addresses grow with each segment, where a driver may give others: they decide only
/// between free blocks of one size.
class CachingAllocator {
public:
    using BlockId = std::int32_t;
    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

    /// \param limit  most bytes that may be reserved
    explicit CachingAllocator(std::int64_t limit = kNoLimit) : limit_(limit) {}

    /// O(log blocks).
    /// \throws OutOfMemory  also after giving unused segments back
    BlockId allocate(std::int64_t bytes);
    /// O(log blocks).
    void free(BlockId block);
    /// From now on blocks come from segments of a graph that is captured, which nobody else gets; or from the
    /// others again.
    void useGraphPool(bool isCapturing) { isCapturing_ = isCapturing; }

    std::int64_t allocated() const { return allocated_; }
    std::int64_t reserved() const { return reserved_; }
    std::int64_t sizeOf(BlockId block) const { return blocks_[block].size; }

private:
    static constexpr BlockId kNone = -1;
    struct Block {
        std::int64_t address = 0;
        std::int64_t size = 0;
        BlockId previous = kNone; ///< neighbours in the same segment
        BlockId next = kNone;
        bool isFree = true;
        bool isLarge = false;
        bool isOfGraph = false;
    };
    using FreeBlocks = std::set<std::tuple<std::int64_t, std::int64_t, BlockId>>; ///< size, address

    BlockId newBlock(const Block& block);
    BlockId newSegment(std::int64_t size, bool isLarge);
    BlockId takeFree(std::int64_t size, bool isLarge);
    void split(BlockId block, std::int64_t size);
    void giveBackSegments();
    void absorb(BlockId block, BlockId neighbour);
    FreeBlocks& freeBlocks(bool isLarge, bool isOfGraph) { return free_[isOfGraph ? 1 : 0][isLarge ? 1 : 0]; }

    std::int64_t limit_;
    std::int64_t allocated_ = 0;
    std::int64_t reserved_ = 0;
    std::int64_t nextAddress_ = 0;
    std::vector<Block> blocks_;
    std::vector<BlockId> unused_;                   ///< places in `blocks_`
    std::array<std::array<FreeBlocks, 2>, 2> free_; ///< by pool and size
    bool isCapturing_ = false;
};

} // namespace tilescope::predict
