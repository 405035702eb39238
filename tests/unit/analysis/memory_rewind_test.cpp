#include "core/analysis/memory/memory_rewind.h"
#include "core/analysis/memory/memory_segments.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::analysis {

namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

AllocEvent eventOn(AllocAction action, std::uint64_t address, std::int64_t bytes)
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
    after.segments.push_back(
        {.device = DeviceIndex{0}, .address = 0, .bytes = 20 * kMebibyte, .isLarge = true});
    after.blocks = {
        {.device = DeviceIndex{0}, .address = 0, .bytes = 5 * kMebibyte, .size = 5 * kMebibyte},
        {.device = DeviceIndex{0}, .address = 5 * kMebibyte, .size = 15 * kMebibyte, .isFree = true}};
    const std::vector<AllocEvent> events{
        eventOn(AllocAction::FreeRequested, 8 * kMebibyte, 3 * kMebibyte - 7),
        eventOn(AllocAction::FreeCompleted, 8 * kMebibyte, 3 * kMebibyte - 7),
        eventOn(AllocAction::SegmentFree, 100 * kMebibyte, 2 * kMebibyte),
        eventOn(AllocAction::Alloc, 0, 5 * kMebibyte)};
    const MemoryStock before = memoryBefore(after, events);
    EXPECT_EQ(before.inconsistent, 0);
    ASSERT_EQ(before.segments.size(), 2u);
    EXPECT_EQ(before.segments[1].address, 100u * kMebibyte);
    ASSERT_EQ(before.blocks.size(), 4u);
    EXPECT_TRUE(before.blocks[0].isFree);
    EXPECT_EQ(before.blocks[0].size, 8 * kMebibyte);
    EXPECT_EQ(before.blocks[1].bytes, 3 * kMebibyte - 7);
    EXPECT_EQ(before.blocks[1].size, 3 * kMebibyte);
    EXPECT_EQ(before.blocks[2].size, 9 * kMebibyte);
    EXPECT_TRUE(before.blocks[3].isFree) << "the segment that was freed";
}

TEST(MemoryBefore, FollowingTheEventsFromThereLeadsBack)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    MemorySegment segment{.device = DeviceIndex{0}, .address = 0, .bytes = 64 * kMebibyte, .isLarge = true};
    MemoryBlock free{.device = DeviceIndex{0}, .size = 64 * kMebibyte, .isFree = true};
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
                events.push_back(eventOn(action, live[chosen].address, live[chosen].bytes));
                map.apply(events.back());
            }
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
            continue;
        }
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (2 * kMebibyte));
        for (const PlacedBlock& block : map.blocksOf(segment))
            if (block.state == PlacedBlock::State::Free && block.size >= bytes + 512) {
                events.push_back(eventOn(AllocAction::Alloc, block.address, bytes));
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
    after.segments.push_back({.device = DeviceIndex{0},
                              .address = 0,
                              .bytes = 6 * kMebibyte,
                              .isLarge = true,
                              .isExpandable = true});
    after.blocks = {{.device = DeviceIndex{0}, .size = 6 * kMebibyte, .isFree = true}};
    const std::vector<AllocEvent> events{eventOn(AllocAction::SegmentUnmap, 6 * kMebibyte, 2 * kMebibyte),
                                         eventOn(AllocAction::SegmentMap, 2 * kMebibyte, 4 * kMebibyte)};
    const MemoryStock before = memoryBefore(after, events);
    EXPECT_EQ(before.inconsistent, 0);
    ASSERT_EQ(before.segments.size(), 2u);
    EXPECT_EQ(before.segments[0].bytes, 2 * kMebibyte);
    EXPECT_EQ(before.segments[1].address, 6u * kMebibyte);
    EXPECT_EQ(before.segments[1].bytes, 2 * kMebibyte);
    EXPECT_TRUE(before.segments[1].isExpandable);
}

TEST(MemoryBefore, CountsInconsistentEvents)
{
    const std::vector<AllocEvent> events{eventOn(AllocAction::Alloc, 64, 10),
                                         eventOn(AllocAction::SegmentAlloc, 0, 2 * kMebibyte)};
    EXPECT_EQ(memoryBefore({}, events).inconsistent, 2);
}

} // namespace tilescope::analysis
