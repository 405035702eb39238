#include "core/predict/block_schedule.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tilescope::predict {
namespace {

BlockGrid causal(std::int64_t heads, int tiles)
{
    BlockGrid grid{.heads = heads, .seconds = std::vector<double>(static_cast<std::size_t>(tiles))};
    std::iota(grid.seconds.begin(), grid.seconds.end(), 1.0);
    return grid;
}

TEST(ScheduledSeconds, WaitsForTheLongestBlockIfEachHasItsOwnMultiprocessor)
{
    EXPECT_DOUBLE_EQ(scheduledSeconds(causal(1, 100), {1, 1, false}, 132), 100);
    EXPECT_DOUBLE_EQ(scheduledSeconds(causal(1, 100), {3, 0.5, false}, 132), 200) << "half of the rate alone";
}

TEST(ScheduledSeconds, SharesAMultiprocessorEvenly)
{
    const BlockGrid two{.heads = 2, .seconds = {3}};
    EXPECT_DOUBLE_EQ(scheduledSeconds(two, {1, 1, false}, 1), 6) << "one after the other";
    EXPECT_DOUBLE_EQ(scheduledSeconds(two, {2, 1, false}, 1), 6) << "both at half of the rate";
    EXPECT_DOUBLE_EQ(scheduledSeconds(two, {2, 0.5, false}, 1), 6) << "two fill what one cannot";
    EXPECT_DOUBLE_EQ(scheduledSeconds(two, {1, 0.5, false}, 1), 12);
    // 1 and 3 run at half of the rate each until 1 ends at 2. The remaining 2, alone at half of the rate, take
    // another 4.
    EXPECT_DOUBLE_EQ(scheduledSeconds({.heads = 1, .seconds = {1, 3}}, {2, 0.5, false}, 1), 6);
}

TEST(ScheduledSeconds, EndsSoonerIfTheLongestBlocksComeFirst)
{
    for (const int tiles : {5, 11, 23, 60}) {
        const BlockGrid grid = causal(2, tiles);
        const double work = 2 * std::accumulate(grid.seconds.begin(), grid.seconds.end(), 0.0);
        const double first = scheduledSeconds(grid, {1, 1, true}, 10);
        EXPECT_LE(first, scheduledSeconds(grid, {1, 1, false}, 10));
        EXPECT_GE(first, std::max(work / 10, grid.seconds.back()));
        EXPECT_LE(first, work / 10 + grid.seconds.back());
    }
}

TEST(ScheduledSeconds, OfManyBlocksIsCloseToTheirWorkOverTheDevice)
{
    const BlockGrid grid = causal(200, 60);
    const double work = 200 * std::accumulate(grid.seconds.begin(), grid.seconds.end(), 0.0);
    EXPECT_NEAR(scheduledSeconds(grid, {2, 1, true}, 100), work / 100, 0.02 * work / 100);
    EXPECT_NEAR(scheduledSeconds(causal(80, 60), {2, 1, true}, 100), work / 250, 0.02 * work / 250)
        << "simulated";
}

} // namespace
} // namespace tilescope::predict
