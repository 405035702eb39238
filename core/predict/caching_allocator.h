#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

namespace tilescope::predict {

/// Thrown where an allocation would fail.
struct OutOfMemory {
    std::int64_t asked = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

/// A model of PyTorch's caching allocator for one device and one stream that allocates no memory: the same
/// rounding, segments and choice of blocks (c10/cuda/CUDACachingAllocator.cpp, default settings).
///
/// Sizes are rounded up to 512 B. Blocks up to 1 MiB come from segments of 2 MiB, blocks up to 10 MiB from
/// segments of 20 MiB; larger blocks get their own segment, rounded up to 2 MiB. The smallest free block that
/// fits is used. The remainder is not split off, and counts as allocated, if it is at most 1 MiB (512 B for
/// small blocks). Addresses increase with each segment, unlike a driver's; they only decide between free
/// blocks of equal size.
class CachingAllocator {
public:
    using BlockId = std::int32_t;
    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

    /// \param limit  maximum number of reserved bytes
    explicit CachingAllocator(std::int64_t limit = kNoLimit) : limit_(limit) {}

    /// O(log blocks).
    /// \throws OutOfMemory  the limit is exceeded even after unused segments were freed
    BlockId allocate(std::int64_t bytes);
    /// O(log blocks).
    void free(BlockId block);
    /// Selects the pool of subsequent allocations: the private pool of a CUDA graph during capture, or the
    /// general pool.
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
    std::vector<BlockId> unused_;                   ///< free indices of `blocks_`
    std::array<std::array<FreeBlocks, 2>, 2> free_; ///< by pool and size
    bool isCapturing_ = false;
};

} // namespace tilescope::predict
