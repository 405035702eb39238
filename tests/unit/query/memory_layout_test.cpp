#include "core/query/memory/memory_layout.h"

#include "core/query/memory/memory_strips.h"
#include "tests/support/fake_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace tilescope::query {
namespace {

using tilescope::testing::FakeMemory;

const MemoryBox& boxOf(const MemoryLayout& layout, std::uint32_t block)
{
    return *std::ranges::find(layout.boxes, block, &MemoryBox::block);
}

TEST(MemoryLayout, SegmentsStandOnEachOtherAndBlocksAtTheirAddresses)
{
    constexpr std::int64_t kSegment = 2 << 20;
    FakeMemory memory;
    memory.segment(0x7f0000000000, kSegment).freeBlock(0x7f0000000000, kSegment);
    memory.segment(0x100000000, 4096).older(0x100000000, 4096, "embedding");
    memory.alloc(0x7f0000000200, 1024, 10, "").alloc(0x7f0000100000, 2048, 20, "").free(0x7f0000000200, 30);
    const auto history = memory.history();
    const auto layout = memoryLayout(*history, MemoryPlacing::Address, 100);
    ASSERT_EQ(layout->areas.size(), 2u);
    EXPECT_EQ(layout->areas[0].address, 0x100000000u);
    EXPECT_EQ(layout->areas[0].low, 0);
    EXPECT_GT(layout->areas[1].low, 4096) << "with a hair between them";
    EXPECT_EQ(layout->height, layout->areas[1].low + kSegment);
    ASSERT_EQ(layout->boxes.size(), 3u);
    EXPECT_EQ(boxOf(*layout, 1).low, layout->areas[1].low + 0x200);
    EXPECT_EQ(boxOf(*layout, 1).high, layout->areas[1].low + 0x200 + 1024);
    EXPECT_EQ(boxOf(*layout, 1).to - boxOf(*layout, 1).from, 20);
    EXPECT_EQ(boxOf(*layout, 2).to, history->length);
    EXPECT_EQ(layout->restMost, 0);
    EXPECT_EQ(layout->byteShare, 1);
}

TEST(MemoryLayout, PartsOfAnExpandableSegmentAreOneArea)
{
    constexpr std::int64_t kPage = 2 << 20;
    FakeMemory memory;
    for (const std::uint64_t page : {0, 1, 2})
        memory.segment(0x100000000 + page * kPage, kPage, true).freeBlock(0x100000000 + page * kPage, kPage);
    memory.segment(0x100000000 + 3 * kPage, kPage).freeBlock(0x100000000 + 3 * kPage, kPage);
    memory.alloc(0x100000000, 1024, 10, "");
    const auto layout = memoryLayout(*memory.history(), MemoryPlacing::Address, 100);
    ASSERT_EQ(layout->areas.size(), 2u) << "the one beside it is another";
    EXPECT_EQ(layout->areas[0].bytes, 3 * kPage);
}

TEST(MemoryStrips, ShowTheBlocksInEachSegmentAtAnInstant)
{
    constexpr std::int64_t kSegment = 2 << 20;
    FakeMemory memory;
    memory.segment(0x200000, kSegment).freeBlock(0x200000, kSegment);
    memory.alloc(0x200000, 1000, 10, "")
        .alloc(0x200400, 512, 20, "")
        .free(0x200000, 30)
        .alloc(0x200000, 8, 40, "");
    const auto history = memory.history();
    const auto at = [&](std::int64_t time) { return memoryStrips(*history, time).at(0); };
    EXPECT_EQ(at(5).parts.size(), 2u);
    EXPECT_EQ(at(5).used, 1024) << "rounded up";
    EXPECT_EQ(at(5).parts[0].block, 0u);
    const MemoryStrip hole = at(25);
    ASSERT_EQ(hole.parts.size(), 3u);
    EXPECT_EQ(hole.parts[0].state, analysis::PlacedBlock::State::Free);
    EXPECT_FALSE(hole.parts[0].block);
    EXPECT_EQ(hole.parts[1].offset, 0x400);
    EXPECT_EQ(hole.parts[1].block, 1u);
    EXPECT_EQ(hole.largestFree, kSegment - 1536);
    std::int64_t sum = 0;
    for (const MemoryStrip::Part& part : hole.parts)
        sum += part.size;
    EXPECT_EQ(sum, kSegment) << "a segment is full of parts";
    EXPECT_EQ(at(31).parts[0].block, 2u) << "who has the address now";
}

TEST(MemoryLayout, TheEndOfABlockLowersThoseAboveIt)
{
    FakeMemory memory;
    memory.older(1, 100, "").alloc(2, 10, 10, "").alloc(3, 5, 20, "").free(2, 30).alloc(4, 1, 40, "");
    const auto layout = memoryLayout(*memory.history(), MemoryPlacing::Stacked, 100);
    std::vector<std::array<std::int64_t, 5>> boxes;
    const std::int64_t origin = 10; // the run begins with its first event
    for (const MemoryBox& box : layout->boxes)
        boxes.push_back({box.block, box.from + origin, box.to + origin, box.low, box.high});
    std::ranges::sort(boxes);
    const std::vector<std::array<std::int64_t, 5>> expected = {
        {0, 10, 40, 0, 100}, {1, 10, 30, 100, 110}, {2, 20, 30, 110, 115}, {2, 30, 40, 100, 105}};
    EXPECT_EQ(boxes, expected) << "the last begins as the trace ends";
    EXPECT_EQ(layout->height, 115);
}

TEST(MemoryLayout, TheRestIsTheAllocatorsTotalWithoutTheLargestBlocks)
{
    for (const MemoryPlacing placing : {MemoryPlacing::Address, MemoryPlacing::Stacked}) {
        FakeMemory memory;
        memory.unrecorded(900).random(3000, 20'261'123);
        const auto history = memory.history();
        const auto layout = memoryLayout(*history, placing, 200);
        EXPECT_EQ(layout->blocks, 200u);
        std::vector<bool> shown(history->blocks.size(), false);
        for (const MemoryBox& box : layout->boxes)
            shown[box.block] = true;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < history->allocated.size(); ++i) {
            const std::int64_t time = history->allocated.time(i);
            std::int64_t drawn = 0;
            for (std::size_t block = 0; block < shown.size(); ++block)
                if (shown[block] && history->blocks[block].isAliveAt(time))
                    drawn += history->blocks[block].bytes;
            ASSERT_EQ(layout->restAt(*history, time), history->allocated.at(time) - drawn) << time;
            most = std::max(most, layout->restAt(*history, time));
        }
        EXPECT_EQ(layout->restMost, most);
        for (std::size_t block = 0; block < shown.size(); ++block)
            EXPECT_TRUE(shown[block] || history->blocks[block].bytes <= layout->least ||
                        history->blocks[block].begin >= history->length)
                << "a block that is not drawn is none of the largest";
    }
}

TEST(MemoryLayout, StackedBlocksNeverOverlapAndReachUpToTheRest)
{
    FakeMemory memory;
    memory.random(1500, 3);
    const auto history = memory.history();
    const auto layout = memoryLayout(*history, MemoryPlacing::Stacked, 300);
    for (std::int64_t time = 1; time < history->length; time += 173) {
        std::vector<std::pair<std::int64_t, std::int64_t>> lying;
        for (const MemoryBox& box : layout->boxes)
            if (box.from <= time && time < box.to)
                lying.emplace_back(box.low, box.high);
        std::ranges::sort(lying);
        std::int64_t top = 0;
        for (const auto& [low, high] : lying) {
            ASSERT_EQ(low, top) << "at " << time;
            top = high;
        }
        ASSERT_EQ(top, history->allocated.at(time) - layout->restAt(*history, time)) << "at " << time;
    }
}

TEST(MemoryLayout, FindsTheBoxAtAPlaceOrTheNearest)
{
    FakeMemory memory;
    memory.alloc(1, 100, 10, "").alloc(2, 100, 20, "").free(2, 30).free(1, 1000);
    const auto layout = memoryLayout(*memory.history(), MemoryPlacing::Stacked, 100);
    const auto blockAt = [&](double time, double bytes, double slack) {
        const auto box = layout->hit(time, bytes, slack, 1);
        return box ? static_cast<int>(layout->boxes[*box].block) : -1;
    };
    EXPECT_EQ(blockAt(15, 150, 1), 1);
    EXPECT_EQ(blockAt(15, 50, 1), 0);
    EXPECT_EQ(blockAt(24, 150, 1), -1) << "freed long before";
    EXPECT_EQ(blockAt(24, 150, 8), 1) << "but the nearest";
}

} // namespace
} // namespace tilescope::query
