#include "core/analysis/memory/memory_segments.h"

#include "core/analysis/stats/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::analysis {

namespace {

constexpr std::int64_t kMiB = 1 << 20;

AllocEvent event(AllocAction action, std::uint64_t address, std::int64_t bytes)
{
    return {.action = action, .device = DeviceIndex{0}, .address = address, .bytes = bytes};
}

/// Sizes of a segment's blocks; free ones negative.
std::vector<std::int64_t> layout(const SegmentMap& map, std::size_t segment = 0)
{
    std::vector<std::int64_t> sizes;
    for (const PlacedBlock& block : map.blocksOf(map.segments().at(segment)))
        sizes.push_back(block.state == PlacedBlock::State::Free ? -block.size : block.size);
    return sizes;
}

class SegmentMapTest : public ::testing::Test {
protected:
    void apply(AllocAction action, std::uint64_t address, std::int64_t bytes)
    {
        map.apply(event(action, address, bytes));
    }
    void free(std::uint64_t address, std::int64_t bytes)
    {
        apply(AllocAction::FreeRequested, address, bytes);
        apply(AllocAction::FreeCompleted, address, bytes);
    }
    SegmentMap map{{}, {}};
};

} // namespace

using ::testing::ElementsAre;

TEST_F(SegmentMapTest, ASmallBlockIsRoundedAndTheRestSplitOff)
{
    apply(AllocAction::SegmentAlloc, 0x1000000, 2 * kMiB);
    EXPECT_EQ(map.use(), (SegmentUse{.freeSegments = 2 * kMiB}));
    apply(AllocAction::Alloc, 0x1000000, 700);
    EXPECT_THAT(layout(map), ElementsAre(1024, -(2 * kMiB - 1024)));
    EXPECT_EQ(map.use(), (SegmentUse{.requested = 700, .rounding = 324, .freeInUse = 2 * kMiB - 1024}));
    EXPECT_EQ(map.largestFree(), 2 * kMiB - 1024);
    EXPECT_EQ(map.inconsistent(), 0);
}

TEST_F(SegmentMapTest, ALargeBlockKeepsARestOfAMebibyte)
{
    apply(AllocAction::SegmentAlloc, 0x1000000, 20 * kMiB);
    apply(AllocAction::Alloc, 0x1000000, 19 * kMiB);
    EXPECT_THAT(layout(map), ElementsAre(20 * kMiB)) << "a rest of exactly 1 MiB stays with the block";
    EXPECT_EQ(map.use(), (SegmentUse{.requested = 19 * kMiB, .rounding = kMiB}));
    free(0x1000000, 19 * kMiB);
    apply(AllocAction::Alloc, 0x1000000, 19 * kMiB - 512);
    EXPECT_THAT(layout(map), ElementsAre(19 * kMiB - 512, -(kMiB + 512)));
}

TEST_F(SegmentMapTest, AdjacentFreeBlocksAreMerged)
{
    apply(AllocAction::SegmentAlloc, 0x1000000, 2 * kMiB);
    for (const std::uint64_t i : {0, 1, 2})
        apply(AllocAction::Alloc, 0x1000000 + 512 * i, 512);
    free(0x1000000, 512);
    free(0x1000400, 512);
    EXPECT_THAT(layout(map), ElementsAre(-512, 512, -(2 * kMiB - 1024)));
    free(0x1000200, 512);
    EXPECT_THAT(layout(map), ElementsAre(-2 * kMiB));
    EXPECT_EQ(map.use(), (SegmentUse{.freeSegments = 2 * kMiB}));
    apply(AllocAction::SegmentFree, 0x1000000, 2 * kMiB);
    EXPECT_EQ(map.use(), SegmentUse{});
}

TEST_F(SegmentMapTest, ABlockThatAStreamStillUsesIsNotFree)
{
    apply(AllocAction::SegmentAlloc, 0x1000000, 2 * kMiB);
    apply(AllocAction::Alloc, 0x1000000, 512);
    apply(AllocAction::FreeRequested, 0x1000000, 512);
    EXPECT_EQ(map.use(), (SegmentUse{.freeInUse = 2 * kMiB}));
    EXPECT_EQ(map.largestFree(), 2 * kMiB - 512);
    apply(AllocAction::FreeCompleted, 0x1000000, 512);
    EXPECT_EQ(map.use(), (SegmentUse{.freeSegments = 2 * kMiB}));
}

TEST_F(SegmentMapTest, BeginsWithTheExistingSegmentsAndBlocks)
{
    const std::vector<MemorySegment> segments{{.address = 0x1000000, .bytes = 2 * kMiB}};
    const std::vector<MemoryBlock> blocks{
        {.address = 0x1000000, .bytes = 100, .size = 512},
        {.address = 0x1000200, .bytes = 0, .size = 512},
        {.address = 0x1000400, .bytes = 0, .size = 2 * kMiB - 1024, .isFree = true}};
    SegmentMap started(segments, blocks);
    EXPECT_EQ(started.use(), (SegmentUse{.requested = 100, .rounding = 412, .freeInUse = 2 * kMiB - 512}));
    started.apply(event(AllocAction::Alloc, 0x1000400, 512));
    EXPECT_EQ(started.inconsistent(), 0);
    EXPECT_EQ(started.use().requested, 612);
}

TEST_F(SegmentMapTest, ReportsInconsistentEvents)
{
    apply(AllocAction::Alloc, 0x1000000, 512);
    apply(AllocAction::SegmentAlloc, 0x2000000, 2 * kMiB);
    apply(AllocAction::Alloc, 0x2000200, 512);
    free(0x2000200, 512);
    apply(AllocAction::SegmentFree, 0x3000000, 2 * kMiB);
    EXPECT_EQ(map.inconsistent(), 5);
    EXPECT_EQ(map.use(), (SegmentUse{.freeSegments = 2 * kMiB}));
}

TEST_F(SegmentMapTest, AnExpandableSegmentGrowsByThePagesMappedAfterIt)
{
    apply(AllocAction::SegmentMap, 0x10000000, 20 * kMiB);
    apply(AllocAction::Alloc, 0x10000000, 15 * kMiB);
    apply(AllocAction::SegmentMap, 0x10000000 + 20 * kMiB, 20 * kMiB);
    EXPECT_THAT(layout(map), ElementsAre(15 * kMiB, -25 * kMiB))
        << "one segment, one free block across the seam";
    // 15 to 20 MiB share a page with an allocated block; the next page is completely free.
    EXPECT_EQ(map.use(),
              (SegmentUse{.requested = 15 * kMiB, .freeInUse = 5 * kMiB, .freeSegments = 20 * kMiB}));
    apply(AllocAction::Alloc, 0x10000000 + 15 * kMiB, 24 * kMiB + 512 * 1024);
    EXPECT_THAT(layout(map), ElementsAre(15 * kMiB, 24 * kMiB + 512 * 1024, -512 * 1024))
        << "a rest of less than 1 MiB is split off";
    EXPECT_TRUE(map.segments().at(0).isExpandable);
    EXPECT_EQ(map.use().reserved(), 40 * kMiB);
    EXPECT_EQ(map.inconsistent(), 0);
}

TEST_F(SegmentMapTest, PagesThatAreUnmappedLeaveTwoSegments)
{
    for (const std::uint64_t page : {0, 1, 2})
        apply(AllocAction::SegmentMap, 0x10000000 + page * 2 * kMiB, 2 * kMiB);
    apply(AllocAction::Alloc, 0x10000000, kMiB);
    apply(AllocAction::Alloc, 0x10000000 + kMiB, 3 * kMiB + 512);
    apply(AllocAction::Alloc, 0x10000000 + 4 * kMiB + 512, kMiB);
    free(0x10000000 + kMiB, 3 * kMiB + 512);
    EXPECT_EQ(map.use().freeSegments, 2 * kMiB) << "the second page";
    apply(AllocAction::SegmentUnmap, 0x10000000 + 2 * kMiB, 2 * kMiB);
    ASSERT_EQ(map.segments().size(), 2u);
    EXPECT_THAT(layout(map, 0), ElementsAre(kMiB, -kMiB));
    EXPECT_THAT(layout(map, 1), ElementsAre(-512, kMiB, -(kMiB - 512)));
    EXPECT_EQ(map.use(), (SegmentUse{.requested = 2 * kMiB, .freeInUse = 2 * kMiB}));
    EXPECT_EQ(map.use().reserved(), 4 * kMiB);
    apply(AllocAction::SegmentMap, 0x10000000 + 2 * kMiB, 2 * kMiB);
    ASSERT_EQ(map.segments().size(), 1u) << "mapped again, they are one";
    EXPECT_EQ(map.use().freeSegments, 2 * kMiB);
    EXPECT_EQ(map.inconsistent(), 0);
    apply(AllocAction::SegmentUnmap, 0x10000000, 2 * kMiB);
    EXPECT_EQ(map.inconsistent(), 1) << "a block is in that page";
    free(0x10000000, kMiB);
    free(0x10000000 + 4 * kMiB + 512, kMiB);
    EXPECT_EQ(map.use(), (SegmentUse{.freeSegments = 6 * kMiB}));
    apply(AllocAction::SegmentUnmap, 0x10000000, 6 * kMiB);
    EXPECT_EQ(map.use(), SegmentUse{});
    EXPECT_TRUE(map.segments().empty());
}

TEST_F(SegmentMapTest, AdjacentSegmentsOfTheDriverAreNotMerged)
{
    apply(AllocAction::SegmentAlloc, 0x10000000, 20 * kMiB);
    apply(AllocAction::SegmentAlloc, 0x10000000 + 20 * kMiB, 20 * kMiB);
    apply(AllocAction::SegmentMap, 0x10000000 + 40 * kMiB, 20 * kMiB);
    EXPECT_EQ(map.segments().size(), 3u);
    apply(AllocAction::SegmentMap, 0x10000000 + 50 * kMiB, 20 * kMiB);
    EXPECT_EQ(map.inconsistent(), 1) << "half of it is mapped already";
}

TEST_F(SegmentMapTest, TheNextBlockShowsThatABlockIsLarger)
{
    // roundup_power2_divisions:1 makes 1 MiB of 700 KiB.
    apply(AllocAction::SegmentAlloc, 0x10000000, 2 * kMiB);
    apply(AllocAction::Alloc, 0x10000000, 700 * 1024);
    EXPECT_THAT(layout(map), ElementsAre(700 * 1024, -(2 * kMiB - 700 * 1024)));
    apply(AllocAction::Alloc, 0x10000000 + kMiB, kMiB);
    EXPECT_THAT(layout(map), ElementsAre(kMiB, kMiB));
    EXPECT_EQ(map.use(), (SegmentUse{.requested = kMiB + 700 * 1024, .rounding = 324 * 1024}));
    EXPECT_EQ(map.inconsistent(), 0);
    free(0x10000000, 700 * 1024);
    apply(AllocAction::Alloc, 0x10000000 + kMiB - 512, 512);
    EXPECT_EQ(map.inconsistent(), 1) << "there is no segment before it";
}

TEST_F(SegmentMapTest, TheNextBlockShowsThatABlockIsSmaller)
{
    // max_split_size_mb:32 was set when the segment was created, or the rest of an expandable segment was
    // split off.
    apply(AllocAction::SegmentAlloc, 0x10000000, 20 * kMiB);
    apply(AllocAction::Alloc, 0x10000000, 19 * kMiB + 512);
    EXPECT_THAT(layout(map), ElementsAre(20 * kMiB));
    apply(AllocAction::Alloc, 0x10000000 + 19 * kMiB + 512, kMiB / 2);
    EXPECT_EQ(map.inconsistent(), 0);
    EXPECT_EQ(map.use().requested, 19 * kMiB + 512 + kMiB / 2);
    EXPECT_EQ(map.use().reserved(), 20 * kMiB);
}

// Compares with an allocator that keeps and searches one list of blocks.
TEST_F(SegmentMapTest, AgreesWithAnAllocatorOnRandomBlocks)
{
    struct Block {
        std::uint64_t address;
        std::int64_t size;
        std::int64_t bytes;
        bool isFree;
    };
    constexpr std::uint64_t kSeed = 20261121;
    Random random(kSeed);
    constexpr std::uint64_t kBase = 0x10000000;
    std::vector<Block> blocks{{kBase, 20 * kMiB, 0, true}};
    apply(AllocAction::SegmentAlloc, kBase, 20 * kMiB);
    for (int i = 0; i < 3000; ++i) {
        const std::size_t at = random.below(blocks.size());
        if (blocks[at].isFree) {
            const auto most = static_cast<std::uint64_t>(blocks[at].size);
            const auto bytes = static_cast<std::int64_t>(1 + random.below(most / (1 + random.below(8))));
            std::int64_t size = (bytes + 511) / 512 * 512;
            if (size > blocks[at].size)
                continue;
            const Block whole = blocks[at];
            if (whole.size - size > kMiB)
                blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                              {whole.address + static_cast<std::uint64_t>(size), whole.size - size, 0, true});
            else
                size = whole.size;
            blocks[at] = {whole.address, size, bytes, false};
            apply(AllocAction::Alloc, whole.address, bytes);
        } else {
            free(blocks[at].address, blocks[at].bytes);
            blocks[at].isFree = true;
            blocks[at].bytes = 0;
            for (std::size_t j = 0; j + 1 < blocks.size();)
                if (blocks[j].isFree && blocks[j + 1].isFree) {
                    blocks[j].size += blocks[j + 1].size;
                    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(j) + 1);
                } else {
                    ++j;
                }
        }
        SegmentUse use;
        for (const Block& block : blocks)
            if (!block.isFree) {
                use.requested += block.bytes;
                use.rounding += block.size - block.bytes;
            }
        const bool isEmpty = blocks.size() == 1 && blocks[0].isFree;
        (isEmpty ? use.freeSegments : use.freeInUse) = 20 * kMiB - use.requested - use.rounding;
        ASSERT_EQ(map.use(), use) << "seed " << kSeed << ", step " << i;
    }
    EXPECT_EQ(map.inconsistent(), 0);
}

} // namespace tilescope::analysis
