#pragma once

#include "core/model/memory.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// The use of the memory that a caching allocator reserved: the sum of the members is the reserved memory.
struct SegmentUse {
    std::int64_t requested = 0; ///< requested bytes of allocated blocks
    std::int64_t rounding = 0;  ///< bytes that rounding adds to those blocks
    std::int64_t freeInUse = 0; ///< free, or waiting for a free to complete; the driver cannot reclaim
                                ///< them
    std::int64_t freeSegments =
        0; ///< in segments without blocks in use, or whole free pages of expandable ones

    std::int64_t fragmentation() const { return rounding + freeInUse; }
    std::int64_t reserved() const { return requested + rounding + freeInUse + freeSegments; }
    bool operator==(const SegmentUse&) const = default;
};

/// A block's place in its segment, allocated or free.
struct PlacedBlock {
    enum class State : std::uint8_t { Free, Allocated, Pending }; ///< pending: freed, but in use on a stream
    std::uint64_t address = 0;
    std::int64_t size = 0;  ///< bytes that the block occupies
    std::int64_t bytes = 0; ///< requested; 0 if free
    State state = State::Free;
};

/// Whether segments can be followed through events: either the segments at the first event are known, or the
/// events begin before the first segment exists.
bool canFollow(std::span<const MemorySegment> segments, std::span<const AllocEvent> events);

/// Segments of LibTorch's CUDA caching allocator and the blocks in them, updated event by event.
///
/// Events contain requested sizes, not block sizes; those follow from the allocator's rules
/// (c10/cuda/CUDACachingAllocator.cpp). A size is rounded up to 512 bytes, and the rest of the free block is
/// split off if it is at least 512 bytes, or in segments for large blocks if it is over 1 MiB. Free
/// neighbours are merged. Allocator settings change the first two rules (roundup_power2_divisions,
/// max_split_size_mb); the size of a block is then known once another is placed behind it.
///
/// An expandable segment (expandable_segments:True) is a contiguous mapped range of addresses. It grows and
/// shrinks by pages of 2 MiB, or 20 MiB for large blocks; if pages in its middle are unmapped, it becomes
/// two. A remainder of at least 512 bytes is always split off, and free whole pages can return to the driver
/// while others are in use.
class SegmentMap {
public:
    /// \param segments, blocks  of one device at one instant: each segment is full of blocks
    SegmentMap(std::span<const MemorySegment> segments, std::span<const MemoryBlock> blocks);

    /// Applies the next event, in time order. O(log n); unmapping part of an expandable segment takes O(its blocks).
    void apply(const AllocEvent& event);

    SegmentUse use() const { return use_; }
    /// The largest block that can be allocated without asking the driver.
    std::int64_t largestFree() const;
    /// All current segments by address, and their blocks.
    std::vector<MemorySegment> segments() const;
    std::vector<PlacedBlock> blocksOf(const MemorySegment& segment) const;
    /// Number of events that contradict the known state, such as those of an unknown segment or a missing block.
    std::int64_t inconsistent() const { return inconsistent_; }

private:
    struct Segment {
        MemorySegment info;
        std::int64_t used = 0;                            ///< bytes in blocks that are not free
        std::map<std::uint64_t, PlacedBlock> blocks = {}; ///< all blocks of the segment, by address
    };

    using Blocks = std::map<std::uint64_t, PlacedBlock>;

    Segment* segmentOf(std::uint64_t address);
    PlacedBlock* freeBlockAt(Segment& segment, std::uint64_t address);
    void allocate(const AllocEvent& event);
    void requestFree(const AllocEvent& event);
    void completeFree(const AllocEvent& event);
    void joinNext(Segment& segment, Blocks::iterator block);
    void addSegment(const AllocEvent& event);
    void joinSegment(std::map<std::uint64_t, Segment>::iterator first);
    void removeSegment(const AllocEvent& event);
    void unmap(const AllocEvent& event);
    void addUsed(Segment& segment, std::int64_t bytes);
    void count(const Segment& segment, const PlacedBlock& block, int sign);
    void count(const Segment& segment, int sign);

    std::map<std::uint64_t, Segment> segments_; // by address
    SegmentUse use_;
    std::int64_t inconsistent_ = 0;
};

} // namespace tilescope::analysis
