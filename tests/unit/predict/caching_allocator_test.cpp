#include "core/predict/caching_allocator.h"

#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

TEST(CachingAllocator, RoundsUpTo512AndTakesTheSegmentOfTheSize)
{
    struct Case {
        std::int64_t asked, taken, segment;
    };
    for (const Case& c :
         {Case{1, 512, 2 * kMiB}, Case{513, 1024, 2 * kMiB}, Case{kMiB, kMiB, 2 * kMiB},
          Case{kMiB + 1, kMiB + 512, 20 * kMiB}, Case{10 * kMiB - 512, 10 * kMiB - 512, 20 * kMiB},
          Case{32 * kMiB, 32 * kMiB, 32 * kMiB}}) {
        CachingAllocator allocator;
        allocator.allocate(c.asked);
        EXPECT_EQ(allocator.allocated(), c.taken) << c.asked;
        EXPECT_EQ(allocator.reserved(), c.segment) << c.asked;
    }
}

TEST(CachingAllocator, KeepsWhatIsLeftOfALargeBlockWholeUpToOneMebibyte)
{
    CachingAllocator allocator;
    allocator.allocate(11 * kMiB); // a segment of 12 MiB: one is left, which no large block could use
    EXPECT_EQ(allocator.allocated(), 12 * kMiB);
    allocator.allocate(12 * kMiB + 512); // 14 MiB: more is left
    EXPECT_EQ(allocator.allocated(), 24 * kMiB + 512);
    EXPECT_EQ(allocator.reserved(), 26 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestFreeBlockThatFits)
{
    CachingAllocator allocator;
    const auto large = allocator.allocate(40 * kMiB);
    const auto small = allocator.allocate(30 * kMiB);
    allocator.free(large);
    allocator.free(small);
    allocator.allocate(30 * kMiB);
    allocator.allocate(40 * kMiB);
    EXPECT_EQ(allocator.reserved(), 70 * kMiB) << "the 30 MiB went into the block of 40";
}

TEST(CachingAllocator, JoinsNeighboursThatAreFree)
{
    CachingAllocator allocator;
    const auto first = allocator.allocate(5 * kMiB);
    const auto second = allocator.allocate(5 * kMiB);
    const auto third = allocator.allocate(5 * kMiB);
    EXPECT_EQ(allocator.reserved(), 20 * kMiB);
    allocator.free(first);
    allocator.free(third);
    allocator.free(second);
    allocator.allocate(9 * kMiB);
    allocator.allocate(9 * kMiB);
    EXPECT_EQ(allocator.reserved(), 20 * kMiB) << "a segment whose blocks are all free is one block again";
}

TEST(CachingAllocator, KeepsTheBlocksOfAGraphToItself)
{
    CachingAllocator allocator;
    allocator.free(allocator.allocate(32 * kMiB));
    allocator.useGraphPool(true);
    const auto captured = allocator.allocate(32 * kMiB);
    EXPECT_EQ(allocator.reserved(), 64 * kMiB) << "a graph takes nothing of the others";
    allocator.free(captured);
    allocator.useGraphPool(false);
    allocator.allocate(32 * kMiB);
    allocator.allocate(32 * kMiB);
    EXPECT_EQ(allocator.reserved(), 96 * kMiB) << "nor do they of it";
}

TEST(CachingAllocator, GivesUnusedSegmentsBackBeforeItFails)
{
    CachingAllocator allocator(64 * kMiB);
    const auto unused = allocator.allocate(32 * kMiB);
    allocator.allocate(20 * kMiB);
    allocator.free(unused);
    allocator.allocate(40 * kMiB);
    EXPECT_EQ(allocator.reserved(), 60 * kMiB);
    try {
        allocator.allocate(30 * kMiB);
        FAIL() << "30 MiB do not fit";
    } catch (const OutOfMemory& refused) {
        EXPECT_EQ(refused.asked, 30 * kMiB);
        EXPECT_EQ(refused.allocated, 60 * kMiB);
        EXPECT_EQ(refused.reserved, 60 * kMiB);
    }
}

} // namespace
} // namespace tilescope::predict
