#include "core/query/memory_layout.h"

#include "core/query/memory_strips.h"
#include "tests/support/fake_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

TEST(MemoryStrips, TellWhatLiesInEachSegmentOfAnInstant)
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

TEST(MemoryLayout, WhatABlocksEndFreesThoseAboveFall)
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

TEST(MemoryLayout, TheRestIsWhatTheAllocatorCountsBeyondTheLargestBlocks)
{
    for (const MemoryPlacing placing : {MemoryPlacing::Address, MemoryPlacing::Stacked}) {
        FakeMemory memory;
        memory.untold(900).random(3000, 20'261'123);
        const auto history = memory.history();
        const auto layout = memoryLayout(*history, placing, 200);
        EXPECT_EQ(layout->blocks, 200u);
        std::vector<bool> shown(history->blocks.size(), false);
        for (const MemoryBox& box : layout->boxes)
            shown[box.block] = true;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < history->allocated.size(); ++i) {
            const std::int64_t time = history->allocated.time(i);
            std::int64_t told = 0;
            for (std::size_t block = 0; block < shown.size(); ++block)
                if (shown[block] && history->blocks[block].isAliveAt(time))
                    told += history->blocks[block].bytes;
            ASSERT_EQ(layout->rest.at(time), history->allocated.at(time) - told) << time;
            most = std::max(most, layout->rest.at(time));
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
        ASSERT_EQ(top, history->allocated.at(time) - layout->rest.at(time)) << "at " << time;
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

// Brute force: what every box covers of every pixel.
void expectTrueCoverage(const MemoryLayout& layout, std::span<const std::uint8_t> groups,
                        const MemoryFrame& frame)
{
    const auto pixels = static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height);
    const auto pixelAt = [&frame](int x, int y) {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(frame.width) +
               static_cast<std::size_t>(x);
    };
    std::vector<double> wanted(pixels, 0);
    const auto cover = [&](std::vector<double>& into, double left, double right, double top, double bottom,
                           double share) {
        for (int y = std::max(0, static_cast<int>(top)); y < std::min<double>(frame.height, bottom); ++y)
            for (int x = std::max(0, static_cast<int>(left)); x < std::min<double>(frame.width, right); ++x) {
                const double width = std::min(right, x + 1.0) - std::max(left, static_cast<double>(x));
                const double height = std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y));
                if (width > 0 && height > 0)
                    into[pixelAt(x, y)] += share * width * height;
            }
    };
    double area = 0;
    for (const MemoryBox& box : layout.boxes) {
        const double left = std::max(0.0, frame.x(static_cast<double>(box.from)));
        const double right = std::min<double>(frame.width, frame.x(static_cast<double>(box.to)));
        const double top = std::max(0.0, frame.y(static_cast<double>(box.high)));
        const double bottom = std::min<double>(frame.height, frame.y(static_cast<double>(box.low)));
        if (right <= left || bottom <= top)
            continue;
        cover(wanted, left, right, top, bottom, 1);
        area += (right - left) * (bottom - top);
    }
    const MemoryDrawing drawing = drawMemory(layout, groups, frame);
    std::vector<double> got(pixels, 0);
    double drawn = 0;
    for (const DrawnMemory& box : drawing.boxes) {
        cover(got, box.left, box.right, box.top, box.bottom, 1);
        drawn += (box.right - box.left) * (box.bottom - box.top);
        EXPECT_EQ(box.group, groups[layout.boxes[box.box].block]);
    }
    for (const MergedMemory& run : drawing.merged) {
        drawn += static_cast<double>(run.share) * (run.to - run.from);
        for (int x = run.from; x < run.to; ++x)
            got[pixelAt(x, run.row)] += static_cast<double>(run.share);
    }
    EXPECT_NEAR(drawn, area, 1e-3 * area + 0.05) << "nothing vanishes, nothing is drawn twice";
    for (std::size_t i = 0; i < pixels; ++i) {
        // Runs of pixels keep their mean, of pixels within an eighth of each other.
        ASSERT_NEAR(got[i], wanted[i], 0.126) << "pixel " << i % static_cast<std::size_t>(frame.width) << ", "
                                              << i / static_cast<std::size_t>(frame.width);
        // A box is seen wherever it is.
        ASSERT_EQ(got[i] > 0, wanted[i] > 1e-4 || got[i] > 0);
        ASSERT_TRUE(wanted[i] < 1e-4 || got[i] > 0);
    }
}

TEST(MemoryDrawing, CoversWhatTheBoxesDoAtEveryZoom)
{
    for (const MemoryPlacing placing : {MemoryPlacing::Address, MemoryPlacing::Stacked}) {
        FakeMemory memory;
        memory.random(6000, 20'261'124);
        const auto history = memory.history();
        const auto groups = memoryGroups(history, MemoryGrouping::Category);
        const auto layout = memoryLayout(*history, placing, 2000);
        std::mt19937 random(5);
        const auto length = static_cast<double>(history->length);
        const auto height = static_cast<double>(layout->height);
        expectTrueCoverage(*layout, groups->groupOf, {0, length, 0, height, 200, 120});
        for (int i = 0; i < 12; ++i) {
            const double part = std::exp2(-static_cast<double>(random() % 9));
            const double from = static_cast<double>(random() % 1000) / 1000 * length * (1 - part);
            const double low = static_cast<double>(random() % 1000) / 1000 * height * (1 - part);
            expectTrueCoverage(
                *layout, groups->groupOf,
                {from, from + part * length, low, low + (i % 2 ? part : 1) * height, 200, 120});
        }
    }
}

TEST(MemoryDrawing, BoxesLargeEnoughAreDrawnOneByOne)
{
    FakeMemory memory;
    memory.alloc(1, 1000, 0, "")
        .alloc(2, 1, 100, "")
        .alloc(3, 1000, 500, "")
        .free(3, 501)
        .alloc(4, 1, 1000, "");
    const auto history = memory.history();
    const auto layout = memoryLayout(*history, MemoryPlacing::Stacked, 10);
    const std::vector<std::uint8_t> groups{0, 1, 2, 3};
    const MemoryDrawing drawing =
        drawMemory(*layout, groups, {0, 1000, 0, static_cast<double>(layout->height), 100, 100});
    ASSERT_EQ(drawing.boxes.size(), 1u) << "one is too thin, one too short";
    EXPECT_EQ(drawing.boxes[0].group, 0);
    EXPECT_TRUE(std::ranges::any_of(drawing.merged, [](const MergedMemory& run) { return run.group == 1; }));
    EXPECT_TRUE(std::ranges::any_of(drawing.merged, [](const MergedMemory& run) { return run.group == 2; }));
}

} // namespace
} // namespace tilescope::query
