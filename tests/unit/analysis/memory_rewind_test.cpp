#include "core/analysis/memory/memory_rewind.h"
#include "core/analysis/memory/memory_segments.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::analysis {

namespace {

constexpr std::int64_t kMiB = 1 << 20;

AllocEvent event(AllocAction action, std::uint64_t address, std::int64_t bytes)
{
    AllocEvent made;
    made.action = action;
    made.device = DeviceIndex{0};
    made.address = address;
    made.bytes = bytes;
    return made;
}

MemoryStock stockOf(const SegmentMap& map)
{
    MemoryStock stock;
    for (const MemorySegment& segment : map.segments()) {
        stock.segments.push_back(segment);
        for (const PlacedBlock& block : map.blocksOf(segment))
            stock.blocks.push_back({.device = DeviceIndex{0},
                                    .address = block.address,
                                    .bytes = block.bytes,
                                    .size = block.size,
                                    .isFree = block.state == PlacedBlock::State::Free});
    }
    return stock;
}

} // namespace

TEST(MemoryBefore, UndoesTheEvents)
{
    MemoryStock after;
    after.segments.push_back({.device = DeviceIndex{0}, .address = 0, .bytes = 20 * kMiB, .isLarge = true});
    after.blocks = {{.device = DeviceIndex{0}, .address = 0, .bytes = 5 * kMiB, .size = 5 * kMiB},
                    {.device = DeviceIndex{0}, .address = 5 * kMiB, .size = 15 * kMiB, .isFree = true}};
    const std::vector<AllocEvent> events{event(AllocAction::FreeRequested, 8 * kMiB, 3 * kMiB - 7),
                                         event(AllocAction::FreeCompleted, 8 * kMiB, 3 * kMiB - 7),
                                         event(AllocAction::SegmentFree, 100 * kMiB, 2 * kMiB),
                                         event(AllocAction::Alloc, 0, 5 * kMiB)};
    const MemoryStock before = memoryBefore(after, events);
    EXPECT_EQ(before.inconsistent, 0);
    ASSERT_EQ(before.segments.size(), 2u);
    EXPECT_EQ(before.segments[1].address, 100u * kMiB);
    ASSERT_EQ(before.blocks.size(), 4u);
    EXPECT_TRUE(before.blocks[0].isFree);
    EXPECT_EQ(before.blocks[0].size, 8 * kMiB);
    EXPECT_EQ(before.blocks[1].bytes, 3 * kMiB - 7);
    EXPECT_EQ(before.blocks[1].size, 3 * kMiB);
    EXPECT_EQ(before.blocks[2].size, 9 * kMiB);
    EXPECT_TRUE(before.blocks[3].isFree) << "the segment that was freed";
}

TEST(MemoryBefore, FollowingTheEventsFromThereLeadsBack)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    MemorySegment segment{.device = DeviceIndex{0}, .address = 0, .bytes = 64 * kMiB, .isLarge = true};
    MemoryBlock free{.device = DeviceIndex{0}, .size = 64 * kMiB, .isFree = true};
    SegmentMap map(std::vector{segment}, std::vector{free});
    std::vector<AllocEvent> events;
    std::vector<AllocEvent> live;
    std::size_t cut = 0;
    MemoryStock middle;
    for (int i = 0; i < 400; ++i) {
        if (i == 200) {
            cut = events.size();
            middle = stockOf(map);
        }
        if (!live.empty() && random() % 2 == 0) {
            const std::size_t chosen = random() % live.size();
            for (const AllocAction action : {AllocAction::FreeRequested, AllocAction::FreeCompleted}) {
                events.push_back(event(action, live[chosen].address, live[chosen].bytes));
                map.apply(events.back());
            }
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
            continue;
        }
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (2 * kMiB));
        for (const PlacedBlock& block : map.blocksOf(segment))
            if (block.state == PlacedBlock::State::Free && block.size >= bytes + 512) {
                events.push_back(event(AllocAction::Alloc, block.address, bytes));
                live.push_back(events.back());
                map.apply(events.back());
                break;
            }
    }
    ASSERT_EQ(map.inconsistent(), 0);
    const std::vector<AllocEvent> later(events.begin() + static_cast<std::ptrdiff_t>(cut), events.end());
    const MemoryStock before = memoryBefore(stockOf(map), later);
    EXPECT_EQ(before.inconsistent, 0);
    std::int64_t asked = 0;
    std::int64_t askedBefore = 0;
    for (const MemoryBlock& block : middle.blocks)
        asked += block.bytes;
    for (const MemoryBlock& block : before.blocks)
        askedBefore += block.bytes;
    EXPECT_EQ(askedBefore, asked);
    SegmentMap again(before.segments, before.blocks);
    for (const AllocEvent& later_ : later)
        again.apply(later_);
    EXPECT_EQ(again.inconsistent(), 0);
    EXPECT_EQ(again.use().requested, map.use().requested);
    EXPECT_EQ(again.use().reserved(), map.use().reserved());
}

TEST(MemoryBefore, ExpandableSegmentsShrinkAndGrowBack)
{
    MemoryStock after;
    after.segments.push_back(
        {.device = DeviceIndex{0}, .address = 0, .bytes = 6 * kMiB, .isLarge = true, .isExpandable = true});
    after.blocks = {{.device = DeviceIndex{0}, .size = 6 * kMiB, .isFree = true}};
    const std::vector<AllocEvent> events{event(AllocAction::SegmentUnmap, 6 * kMiB, 2 * kMiB),
                                         event(AllocAction::SegmentMap, 2 * kMiB, 4 * kMiB)};
    const MemoryStock before = memoryBefore(after, events);
    EXPECT_EQ(before.inconsistent, 0);
    ASSERT_EQ(before.segments.size(), 2u);
    EXPECT_EQ(before.segments[0].bytes, 2 * kMiB);
    EXPECT_EQ(before.segments[1].address, 6u * kMiB);
    EXPECT_EQ(before.segments[1].bytes, 2 * kMiB);
    EXPECT_TRUE(before.segments[1].isExpandable);
}

TEST(MemoryBefore, CountsInconsistentEvents)
{
    const std::vector<AllocEvent> events{event(AllocAction::Alloc, 64, 10),
                                         event(AllocAction::SegmentAlloc, 0, 2 * kMiB)};
    EXPECT_EQ(memoryBefore({}, events).inconsistent, 2);
}

} // namespace tilescope::analysis
