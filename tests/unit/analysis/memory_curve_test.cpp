#include "core/analysis/memory/memory_curve.h"

#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using tilescope::testing::FakeTrace;

constexpr DeviceIndex kGpu{0};

} // namespace

TEST(MemoryPeak, IsTheFirstHighestMomentOfTheDevice)
{
    FakeTrace trace;
    trace.alloc(1, 100, 10).alloc(2, 50, 20).free(2, 50, 30).alloc(3, 50, 40);
    const auto peak = memoryPeak(trace.batch().allocEvents, kGpu);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->time, timestampAt(20));
    EXPECT_EQ(peak->allocated, Bytes{150});
    EXPECT_EQ(peak->reserved, Bytes{250});
    EXPECT_FALSE(memoryPeak(trace.batch().allocEvents, DeviceIndex{3}));
}

TEST(MemoryPeak, TheMainDeviceIsTheOneThatUsedMost)
{
    FakeTrace trace;
    trace.alloc(1, 10, 10).onCpu().alloc(2, 500, 20);
    EXPECT_EQ(mainMemoryDevice(trace.batch().allocEvents), kGpu);
    EXPECT_FALSE(mainMemoryDevice({}));
}

} // namespace tilescope::analysis
