#include "core/analysis/kernels/occupancy.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {
namespace {

LaunchConfig launchOf(std::uint32_t threads, std::uint32_t registers, std::uint32_t staticShared = 0,
                      std::uint32_t dynamicShared = 0)
{
    LaunchConfig launch;
    launch.grid = {96, 4, 1};
    launch.block = {threads, 1, 1};
    launch.registersPerThread = registers;
    launch.staticShared = staticShared;
    launch.dynamicShared = dynamicShared;
    return launch;
}

// Results of cudaOccMaxActiveBlocksPerMultiprocessor in CUDA 13.0's cuda_occupancy.h with the largest
// carve-out; 0: the launch is impossible.
TEST(Occupancy, AgreesWithTheCalculatorOfCuda)
{
    struct Case {
        const char* capability;
        std::uint32_t threads, registers, staticShared, dynamicShared;
        int blocks;
    };
    constexpr Case kCases[] = {
        {"7.5", 128, 168, 49152, 0, 1},     {"7.5", 256, 32, 0, 0, 4},
        {"7.5", 1024, 64, 0, 0, 1},         {"7.5", 384, 168, 1024, 227328, 0},
        {"7.5", 96, 40, 0, 9000, 7},        {"7.5", 32, 255, 0, 0, 8},
        {"7.5", 512, 33, 12000, 0, 2},      {"7.5", 64, 16, 100, 0, 16},
        {"7.5", 128, 90, 16384, 16384, 2},  {"7.5", 1024, 72, 0, 0, 0},
        {"8.0", 128, 168, 49152, 0, 3},     {"8.0", 256, 32, 0, 0, 8},
        {"8.0", 1024, 64, 0, 0, 1},         {"8.0", 384, 168, 1024, 227328, 0},
        {"8.0", 96, 40, 0, 9000, 16},       {"8.0", 32, 255, 0, 0, 8},
        {"8.0", 512, 33, 12000, 0, 3},      {"8.0", 64, 16, 100, 0, 32},
        {"8.0", 128, 90, 16384, 16384, 4},  {"8.0", 1024, 72, 0, 0, 0},
        {"8.9", 128, 168, 49152, 0, 2},     {"8.9", 256, 32, 0, 0, 6},
        {"8.9", 1024, 64, 0, 0, 1},         {"8.9", 384, 168, 1024, 227328, 0},
        {"8.9", 96, 40, 0, 9000, 10},       {"8.9", 32, 255, 0, 0, 8},
        {"8.9", 512, 33, 12000, 0, 3},      {"8.9", 64, 16, 100, 0, 24},
        {"8.9", 128, 90, 16384, 16384, 3},  {"8.9", 1024, 72, 0, 0, 0},
        {"9.0", 128, 168, 49152, 0, 3},     {"9.0", 256, 32, 0, 0, 8},
        {"9.0", 1024, 64, 0, 0, 1},         {"9.0", 384, 168, 1024, 227328, 1},
        {"9.0", 96, 40, 0, 9000, 16},       {"9.0", 32, 255, 0, 0, 8},
        {"9.0", 512, 33, 12000, 0, 3},      {"9.0", 64, 16, 100, 0, 32},
        {"9.0", 128, 90, 16384, 16384, 5},  {"9.0", 1024, 72, 0, 0, 0},
        {"10.0", 128, 168, 49152, 0, 3},    {"10.0", 256, 32, 0, 0, 8},
        {"10.0", 1024, 64, 0, 0, 1},        {"10.0", 384, 168, 1024, 227328, 1},
        {"10.0", 96, 40, 0, 9000, 16},      {"10.0", 32, 255, 0, 0, 8},
        {"10.0", 512, 33, 12000, 0, 3},     {"10.0", 64, 16, 100, 0, 32},
        {"10.0", 128, 90, 16384, 16384, 5}, {"10.0", 1024, 72, 0, 0, 0},
        {"12.0", 128, 168, 49152, 0, 2},    {"12.0", 256, 32, 0, 0, 6},
        {"12.0", 1024, 64, 0, 0, 1},        {"12.0", 384, 168, 1024, 227328, 0},
        {"12.0", 96, 40, 0, 9000, 10},      {"12.0", 32, 255, 0, 0, 8},
        {"12.0", 512, 33, 12000, 0, 3},     {"12.0", 64, 16, 100, 0, 24},
        {"12.0", 128, 90, 16384, 16384, 3}, {"12.0", 1024, 72, 0, 0, 0},
    };
    for (const Case& one : kCases) {
        const auto limits = multiprocessorLimits(one.capability);
        ASSERT_TRUE(limits) << one.capability;
        const auto occupancy =
            occupancyOf(launchOf(one.threads, one.registers, one.staticShared, one.dynamicShared), *limits);
        EXPECT_EQ(occupancy ? occupancy->blocks : 0, one.blocks)
            << one.capability << ": " << one.threads << " threads, " << one.registers << " registers, "
            << one.staticShared << " + " << one.dynamicShared << " B";
    }
}

TEST(Occupancy, NamesItsLimitAndTheShareOfWarps)
{
    const MultiprocessorLimits hopper = multiprocessorLimits("9.0").value();
    const auto registers = occupancyOf(launchOf(128, 168), hopper);
    EXPECT_EQ(registers->limit, OccupancyLimit::Registers);
    EXPECT_DOUBLE_EQ(registers->share, 12.0 / 64);
    EXPECT_EQ(occupancyOf(launchOf(32, 16), hopper)->limit, OccupancyLimit::Blocks);
    EXPECT_EQ(occupancyOf(launchOf(256, 32), hopper)->limit, OccupancyLimit::Threads);
    EXPECT_EQ(occupancyOf(launchOf(128, 90, 0, 64 * 1024), hopper)->limit, OccupancyLimit::SharedMemory);
}

TEST(Occupancy, CountsWavesOverTheWholeDevice)
{
    const Occupancy occupancy = occupancyOf(launchOf(128, 168), multiprocessorLimits("9.0").value()).value();
    EXPECT_DOUBLE_EQ(wavesOf(launchOf(128, 168), occupancy, 132), 384.0 / (3 * 132));
}

TEST(Occupancy, IsUnknownWithoutALaunchAndForAnUnknownGeneration)
{
    EXPECT_FALSE(occupancyOf(LaunchConfig{}, multiprocessorLimits("9.0").value()));
    EXPECT_FALSE(multiprocessorLimits("3.5"));
    EXPECT_FALSE(multiprocessorLimits(""));
}

} // namespace
} // namespace tilescope::analysis
