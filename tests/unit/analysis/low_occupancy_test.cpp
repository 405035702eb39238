#include "core/analysis/advice/low_occupancy.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

LaunchConfig launchWith(std::uint32_t grid, std::uint32_t block, std::uint32_t registers,
                        std::uint32_t shared = 0)
{
    LaunchConfig launch;
    launch.grid = {grid, 1, 1};
    launch.block = {block, 1, 1};
    launch.registersPerThread = registers;
    launch.dynamicShared = shared;
    return launch;
}

std::optional<LaunchReach> onHopper(const LaunchConfig& launch)
{
    return reachOf(launch, multiprocessorLimits("9.0").value(), 132);
}

} // namespace

TEST(LowOccupancy, NamesWhatLimitsALaunch)
{
    constexpr std::uint32_t kMany = 1 << 20;
    // 64 warps a multiprocessor. 168 registers take 168 x 32 of 65,536 a warp: 12 warps. 100 KiB of 228: two blocks.
    EXPECT_EQ(onHopper(launchWith(kMany, 128, 168))->limit, LaunchLimit::Registers);
    EXPECT_DOUBLE_EQ(onHopper(launchWith(kMany, 128, 168))->share, 12.0 / 64);
    EXPECT_EQ(onHopper(launchWith(kMany, 128, 32, 100 << 10))->limit, LaunchLimit::SharedMemory);
    EXPECT_DOUBLE_EQ(onHopper(launchWith(kMany, 128, 32, 100 << 10))->share, 8.0 / 64);
    EXPECT_EQ(onHopper(launchWith(kMany, 32, 16))->limit, LaunchLimit::BlockSize) << "at most 32 blocks";
    EXPECT_DOUBLE_EQ(onHopper(launchWith(kMany, 32, 16))->share, 0.5);
    EXPECT_EQ(onHopper(launchWith(66, 256, 32))->limit, LaunchLimit::GridSize);
    EXPECT_DOUBLE_EQ(onHopper(launchWith(66, 256, 32))->share, 66.0 * 8 / (132 * 64));
    EXPECT_FALSE(onHopper(LaunchConfig{}));
}

TEST(LowOccupancy, IgnoresTheGridIfTheNumberOfMultiprocessorsIsUnknown)
{
    const auto reach = reachOf(launchWith(1, 256, 32), multiprocessorLimits("9.0").value(), {});
    EXPECT_DOUBLE_EQ(reach->share, 1);
}

TEST(LowOccupancy, PutsTheUnusedShareAtStake)
{
    const std::vector<Interval> walls{{timestampAt(0), timestampAt(1'000)}};
    const std::vector<Interval> others{{timestampAt(150), timestampAt(200)}};
    const Stake stake = lowOccupancy({{{timestampAt(100), timestampAt(200)}, 4}}, walls, others,
                                     [](std::uint32_t) { return 0.2; });
    EXPECT_EQ(stake.time, 40_ns) << "0.8 of the 50 ns in which nothing else runs";
}

TEST(LowOccupancy, LeavesOutKernelsThatNeedFewWarps)
{
    EXPECT_FALSE(needsOccupancy(KernelFamily::Matmul));
    EXPECT_FALSE(needsOccupancy(KernelFamily::Attention));
    EXPECT_FALSE(needsOccupancy(KernelFamily::Collective));
    EXPECT_TRUE(needsOccupancy(KernelFamily::Norm));
    EXPECT_TRUE(needsOccupancy(KernelFamily::Other));
}

} // namespace tilescope::analysis
