#include "core/analysis/advice/small_kernels.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

StreamActivity kernel(std::int64_t start, std::int64_t end, std::uint32_t group, std::uint32_t stream = 7)
{
    return {{{timestampAt(start), timestampAt(end)}, group}, DeviceIndex{0}, StreamId{stream}, true};
}

const std::vector<Interval> kWalls{{timestampAt(0), timestampAt(1'000'000)}};

} // namespace

TEST(SmallKernels, AllButTheLongestOfASeriesAndTheGapsAreAtStake)
{
    const Stake stake =
        smallKernels({kernel(0, 4'000, 1), kernel(5'000, 11'000, 2), kernel(13'000, 16'000, 3)}, kWalls);
    EXPECT_EQ(stake.time, 4'000_ns + 1'000_ns + 2'000_ns + 3'000_ns);
    ASSERT_EQ(stake.parts.size(), 3U);
    EXPECT_EQ(stake.parts[0].group, 3U);
    EXPECT_EQ(stake.parts[0].atStake, 5'000_ns) << "with the gap before it";
    EXPECT_EQ(stake.parts[1].group, 1U);
    EXPECT_EQ(stake.parts[2].atStake, 1'000_ns) << "the longest: only the gap before it";
}

TEST(SmallKernels, LongKernelsCopiesGapsAndStreamsEndASeries)
{
    EXPECT_EQ(smallKernels({kernel(0, 4'000, 1), kernel(14'000, 18'000, 1)}, kWalls).time, 0_ns) << "a gap";
    EXPECT_EQ(smallKernels({kernel(0, 4'000, 1), kernel(4'000, 14'000, 1)}, kWalls).time, 0_ns) << "long";
    EXPECT_EQ(smallKernels({kernel(0, 4'000, 1), kernel(4'000, 8'000, 1, 8)}, kWalls).time, 0_ns)
        << "a stream";
    StreamActivity copy = kernel(4'000, 8'000, 1);
    copy.isKernel = false;
    EXPECT_EQ(smallKernels({kernel(0, 4'000, 1), copy, kernel(8'000, 9'000, 1)}, kWalls).time, 0_ns)
        << "a copy";
}

TEST(SmallKernels, TimeBesideOtherWorkIsNotAtStake)
{
    const Stake stake =
        smallKernels({kernel(0, 4'000, 1), kernel(4'000, 9'000, 1), kernel(1'000, 50'000, 2, 8)}, kWalls);
    EXPECT_EQ(stake.time, 1'000_ns);
}

} // namespace tilescope::analysis
