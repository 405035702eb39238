#include "core/query/runs/coverage_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <random>

namespace tilescope::query {
namespace {

TEST(CoverageRow, AStayingSliverIsInEveryRowUntilItsRemovalAndLeavesNothing)
{
    CoverageRow row;
    row.start(10, 2);
    std::vector<MergedMemory> out;
    const Sliver staying{.left = 1.3F, .width = 4.45F, .height = 1, .group = 1};
    Sliver ends = staying;
    ends.height = -1;
    row.addStaying(staying);
    row.finish(0, out);
    const std::vector<MergedMemory> first = out;
    out.clear();
    row.add({.left = 8, .width = 1, .height = 0.5F, .group = 0});
    row.finish(1, out);
    ASSERT_EQ(out.size(), first.size() + 1);
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(out[i].from, first[i].from);
        EXPECT_EQ(out[i].to, first[i].to);
        EXPECT_EQ(out[i].share, first[i].share);
    }
    EXPECT_FLOAT_EQ(out.back().share, 0.5F);
    row.addStaying(ends);
    out.clear();
    row.finish(2, out);
    EXPECT_TRUE(out.empty()) << "no rounding error remains";
    EXPECT_TRUE(row.empty());
}

TEST(CoverageRow, TheSmallestSliverIsVisible)
{
    CoverageRow row;
    row.start(100, 1);
    std::vector<MergedMemory> out;
    row.add({.left = 41.5F, .width = 1e-9F, .height = 1e-9F, .group = 0});
    row.add({.left = 99.999F, .width = 1e-9F, .height = 1e-9F, .group = 0});
    row.finish(0, out);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].from, 41);
    EXPECT_EQ(out[1].to, 100);
}

TEST(CoverageRow, YieldsEachColumnsCoverageAndLargestGroup)
{
    constexpr int kWidth = 64;
    std::mt19937 random(3);
    const auto number = [&random](double most) {
        return static_cast<double>(random() % 10'000) / 1e4 * most;
    };
    CoverageRow row;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::array<double, 3>> wanted(kWidth);
        row.start(kWidth, 3);
        std::vector<MergedMemory> out;
        for (int i = 0; i < round % 9; ++i) {
            const double left = number(kWidth - 1);
            const double width = number(round % 2 == 0 ? 2 : kWidth - left);
            const double height = 0.01 + number(0.1);
            const auto group = static_cast<std::uint8_t>(random() % 3);
            row.add({static_cast<float>(left), static_cast<float>(width), static_cast<float>(height), group});
            for (int x = 0; x < kWidth; ++x)
                wanted[static_cast<std::size_t>(x)][group] +=
                    height * std::max(0.0, std::min(left + width, x + 1.0) - std::max<double>(left, x));
        }
        row.finish(0, out);
        std::vector<const MergedMemory*> at(kWidth, nullptr);
        for (const MergedMemory& run : out)
            for (int x = run.from; x < run.to; ++x)
                at[static_cast<std::size_t>(x)] = &run;
        for (std::size_t x = 0; x < kWidth; ++x) {
            const double sum = wanted[x][0] + wanted[x][1] + wanted[x][2];
            ASSERT_NEAR(at[x] == nullptr ? 0 : static_cast<double>(at[x]->share), sum, 0.126);
            for (std::size_t group = 0; group < 3; ++group)
                ASSERT_TRUE(wanted[x][group] <= 0.51 * sum + 1e-4 || at[x]->group == group);
        }
    }
}

} // namespace
} // namespace tilescope::query
