// The drawn boxes cover the same area as the blocks at every zoom, with and without levels.

#include "core/query/memory/memory_drawing.h"

#include "tests/support/fake_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tilescope::query {
namespace {

using tilescope::testing::FakeMemory;

// The coverage of every pixel by every box, computed one by one.
struct Truth {
    std::vector<double> all;                   // by pixel
    std::vector<std::array<double, 12>> group; // by pixel
    double area = 0;
    int width = 0;
    int height = 0;

    std::size_t at(int x, int y) const
    {
        return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
    }
    bool isAtEdge(std::size_t pixel) const
    {
        std::size_t pixels = 0;
        eachAround(pixel, [&](std::size_t) { ++pixels; });
        return pixels < 9;
    }
    /// Calls `take` with a pixel and its neighbours.
    template <class Take> void eachAround(std::size_t pixel, Take take) const
    {
        const int x = static_cast<int>(pixel) % width;
        const int y = static_cast<int>(pixel) / width;
        for (int row = std::max(0, y - 1); row <= std::min(height - 1, y + 1); ++row)
            for (int column = std::max(0, x - 1); column <= std::min(width - 1, x + 1); ++column)
                take(at(column, row));
    }
};

template <class Add>
void cover(const MemoryFrame& frame, double left, double right, double top, double bottom, Add add)
{
    for (int y = std::max(0, static_cast<int>(top)); y < std::min<double>(frame.height, bottom); ++y)
        for (int x = std::max(0, static_cast<int>(left)); x < std::min<double>(frame.width, right); ++x) {
            const double width = std::min(right, x + 1.0) - std::max(left, static_cast<double>(x));
            const double height = std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y));
            if (width > 0 && height > 0)
                add(x, y, width * height);
        }
}

Truth truthOf(const MemoryLayout& layout, std::span<const std::uint8_t> groups, const MemoryFrame& frame)
{
    Truth truth{.all = {}, .group = {}, .width = frame.width, .height = frame.height};
    const auto pixels = static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height);
    truth.all.assign(pixels, 0);
    truth.group.assign(pixels, {});
    for (const MemoryBox& box : layout.boxes) {
        const double left = std::max(0.0, frame.x(static_cast<double>(box.from)));
        const double right = std::min<double>(frame.width, frame.x(static_cast<double>(box.to)));
        const double top = std::max(0.0, frame.y(static_cast<double>(box.high)));
        const double bottom = std::min<double>(frame.height, frame.y(static_cast<double>(box.low)));
        if (right <= left || bottom <= top)
            continue;
        cover(frame, left, right, top, bottom, [&](int x, int y, double part) {
            truth.all[truth.at(x, y)] += part;
            truth.group[truth.at(x, y)][groups[box.block] % 12U] += part;
        });
        truth.area += (right - left) * (bottom - top);
    }
    return truth;
}

// \param most  maximum difference of a pixel
void expectTrueCoverage(const MemoryLayout& layout, std::span<const std::uint8_t> groups,
                        const MemoryFrame& frame, const MemoryLevels* levels = nullptr, double most = 0.126)
{
    const Truth truth = truthOf(layout, groups, frame);
    MemoryDrawer drawer;
    const MemoryDrawing& drawing = drawer.draw(layout, groups, frame, levels);
    std::vector<double> got(truth.all.size(), 0);
    std::vector<int> groupOf(truth.all.size(), -1);
    double drawn = 0;
    std::vector<bool> hasBox(truth.all.size(), false);
    for (const DrawnMemory& box : drawing.boxes) {
        cover(frame, box.left, box.right, box.top, box.bottom, [&](int x, int y, double part) {
            got[truth.at(x, y)] += part;
            hasBox[truth.at(x, y)] = true;
        });
        drawn += (box.right - box.left) * (box.bottom - box.top);
        EXPECT_EQ(box.group, groups[layout.boxes[box.box].block]);
    }
    for (const MergedMemory& run : drawing.merged) {
        drawn += static_cast<double>(run.share) * (run.to - run.from);
        for (int x = run.from; x < run.to; ++x) {
            got[truth.at(x, run.row)] += static_cast<double>(run.share);
            groupOf[truth.at(x, run.row)] = run.group;
        }
    }
    EXPECT_NEAR(drawn, truth.area, 1e-3 * truth.area + 0.05) << "no area is lost or drawn twice";
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto where = [&] {
            return "pixel " + std::to_string(i % static_cast<std::size_t>(frame.width)) + ", " +
                   std::to_string(i / static_cast<std::size_t>(frame.width));
        };
        // Runs of pixels keep their mean; their pixels differ by at most an eighth.
        ASSERT_NEAR(got[i], truth.all[i], most) << where();
        double around = 0;
        double drawnAround = 0;
        std::array<double, 12> mostAround{};
        mostAround.fill(1);
        truth.eachAround(i, [&](std::size_t other) {
            around += truth.all[other];
            drawnAround += got[other];
            for (std::size_t group = 0; group < mostAround.size(); ++group)
                mostAround[group] = std::min(mostAround[group], truth.group[other][group]);
        });
        // A box is visible at its place and nothing is drawn elsewhere; with levels, a neighbouring pixel
        // counts too.
        ASSERT_TRUE(truth.all[i] < 1e-4 || (levels == nullptr ? got[i] : drawnAround) > 0) << where();
        if (levels == nullptr || !truth.isAtEdge(i)) {
            ASSERT_TRUE(got[i] == 0 || (levels == nullptr ? truth.all[i] : around) > 0) << where();
        }
        for (std::size_t group = 0; group < mostAround.size(); ++group) {
            ASSERT_TRUE(mostAround[group] < 0.6 || groupOf[i] < 0 || hasBox[i] ||
                        groupOf[i] == static_cast<int>(group))
                << where() << " is of group " << group << " all around";
        }
    }
}

TEST(MemoryDrawing, CoversTheAreaOfTheBoxesAtEveryZoom)
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
    MemoryDrawer drawer;
    const MemoryDrawing& drawing =
        drawer.draw(*layout, groups, {0, 1000, 0, static_cast<double>(layout->height), 100, 100});
    ASSERT_EQ(drawing.boxes.size(), 1u) << "one is too thin, one too short";
    EXPECT_EQ(drawing.boxes[0].group, 0);
    EXPECT_TRUE(std::ranges::any_of(drawing.merged, [](const MergedMemory& run) { return run.group == 1; }));
    EXPECT_TRUE(std::ranges::any_of(drawing.merged, [](const MergedMemory& run) { return run.group == 2; }));
}

// The pattern of training: steps that stack up blocks and free the last first, with temporaries between, some
// as high as a tenth of everything; parameters below, for the whole run.
struct Steps {
    Steps(int steps, int blocks)
    {
        std::mt19937 random(20'261'122);
        layout.height = 1LL << 33;
        const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t low, std::int64_t bytes,
                             std::uint8_t group) {
            layout.boxes.push_back({from, to, low, std::min(low + bytes, layout.height),
                                    static_cast<std::uint32_t>(groups.size())});
            groups.push_back(group);
        };
        const std::int64_t foot = layout.height / 8;
        for (int i = 0; i < kTensors; ++i)
            add(0, 40LL * steps * blocks, foot / kTensors * i, foot / kTensors, 3);
        std::int64_t time = 0;
        for (int step = 0; step < steps; ++step) {
            std::vector<std::size_t> kept;
            std::int64_t top = foot;
            for (int i = 0; i < blocks; ++i) {
                time += 5 + static_cast<std::int64_t>(random() % 20);
                const std::int64_t bytes = (layout.height - foot) * 9 / 10 / blocks;
                if (i % 3 != 0) {
                    kept.push_back(layout.boxes.size());
                    add(time, time, top, bytes, i < blocks / 2 ? 0 : 1);
                    top += bytes;
                } else {
                    add(time, time + 4, top, i % 60 == 0 ? layout.height / 10 : bytes, 2);
                }
            }
            for (; !kept.empty(); kept.pop_back())
                layout.boxes[kept.back()].to = time += 5 + static_cast<std::int64_t>(random() % 20);
        }
        length = static_cast<double>(time);
        layout.index();
    }

    static constexpr int kTensors = 5;
    MemoryLayout layout;
    std::vector<std::uint8_t> groups;
    double length = 0;
};

TEST(MemoryLevels, CoverTheAreaOfTheBoxesAtEveryZoomTheySupport)
{
    const Steps run(6, 20'000);
    const auto levels = memoryLevels(run.layout, run.groups);
    ASSERT_FALSE(levels->levels.empty());
    const auto height = static_cast<double>(run.layout.height);
    std::mt19937 random(9);
    int served = 0;
    for (int i = 0; i < 16; ++i) {
        const double part = std::exp2(-static_cast<double>(i % 8) / 2);
        const double from = static_cast<double>(random() % 1000) / 1000 * run.length * (1 - part);
        const double bytes = i % 3 == 0 ? std::max(part, 0.3) : 1;
        const double low = static_cast<double>(random() % 1000) / 1000 * height * (1 - bytes);
        const MemoryFrame frame{from, from + part * run.length, low, low + bytes * height, 230, 170};
        served += static_cast<int>(
            std::ranges::any_of(levels->levels, [&](const MemoryLevel& each) { return each.serves(frame); }));
        expectTrueCoverage(run.layout, run.groups, frame, levels.get(), 0.25);
    }
    EXPECT_GE(served, 8) << "otherwise the test would only cover plain boxes";
}

TEST(MemoryLevels, HaveFewerPartsThanThereAreBoxesAndEveryBoxInOneOfThem)
{
    const Steps run(6, 20'000);
    const auto levels = memoryLevels(run.layout, run.groups);
    ASSERT_FALSE(levels->levels.empty());
    for (const MemoryLevel& level : levels->levels) {
        EXPECT_LE(2 * (level.runs.size() + level.large.size()), run.layout.boxes.size());
        double area = 0;
        for (const std::uint32_t i : level.large) {
            const MemoryBox& box = run.layout.boxes[i];
            area += static_cast<double>(box.to - box.from) * static_cast<double>(box.high - box.low);
        }
        for (const MemoryLevel::Run& part : level.runs)
            area += static_cast<double>(part.share) * (part.to - part.from) * level.frame.timeOfColumn() *
                    level.frame.bytesOfRow();
        double wanted = 0;
        for (const MemoryBox& box : run.layout.boxes)
            wanted += static_cast<double>(box.to - box.from) * static_cast<double>(box.high - box.low);
        EXPECT_NEAR(area, wanted, 1e-3 * wanted);
    }
}

TEST(MemoryLevels, BoxesDrawnOneByOneAreTheSameWithLevels)
{
    const Steps run(6, 20'000);
    const auto levels = memoryLevels(run.layout, run.groups);
    const MemoryFrame frame{0, run.length / 4, 0, static_cast<double>(run.layout.height), 600, 300};
    const auto boxesOf = [&](const MemoryLevels* with) {
        MemoryDrawer drawer;
        std::vector<std::uint32_t> boxes;
        for (const DrawnMemory& box : drawer.draw(run.layout, run.groups, frame, with).boxes)
            boxes.push_back(box.box);
        return boxes;
    };
    EXPECT_GE(boxesOf(nullptr).size(), std::size_t(Steps::kTensors));
    EXPECT_EQ(boxesOf(levels.get()), boxesOf(nullptr));
}

TEST(MemoryLevels, AreAbsentForFewBoxes)
{
    const Steps run(4, 1000);
    EXPECT_TRUE(memoryLevels(run.layout, run.groups)->levels.empty());
}

} // namespace
} // namespace tilescope::query
