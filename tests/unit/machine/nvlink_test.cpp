#include "core/machine/machine.h"
#include "core/machine/nvml.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace tilescope::machine {
namespace {

TEST(Nvlink, BandwidthIsThatOfAllActiveLinks)
{
    const Nvml* nvml = Nvml::instance();
    ASSERT_NE(nvml, nullptr);
    EXPECT_EQ(nvml->nvlinkBandwidth(nvml->byIndex(0)), 16 * 26'562'000'000ULL);
    EXPECT_EQ(nvml->nvlinkBandwidth(nvml->byIndex(1)), std::nullopt);
}

TEST(Nvlink, BandwidthIsPartOfTheEnvironment)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    const auto entries = gpuEnvironment(0, Moment::Before);
    const auto found = std::ranges::find(entries, "gpu.nvlink", &EnvironmentEntry::key);
    ASSERT_NE(found, entries.end());
    EXPECT_EQ(found->value, "424992000000");
    EXPECT_EQ(found->unit, "B/s");
}

} // namespace
} // namespace tilescope::machine
