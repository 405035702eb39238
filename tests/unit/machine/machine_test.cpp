#include "core/machine/machine.h"

#include "core/machine/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <thread>

namespace tilescope::machine {

namespace {

std::map<std::string, std::string> factsOf(const std::vector<EnvironmentEntry>& entries)
{
    std::map<std::string, std::string> facts;
    for (const EnvironmentEntry& entry : entries)
        EXPECT_TRUE(facts.emplace(entry.key, entry.value).second) << entry.key << " occurs twice";
    return facts;
}

} // namespace

TEST(HostEnvironment, ContainsTheSystemsValues)
{
    const auto facts = factsOf(hostEnvironment());
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    EXPECT_EQ(facts.at("host"), host.data());
    EXPECT_EQ(facts.at("cpu.threads"), std::to_string(std::thread::hardware_concurrency()));
    const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
    EXPECT_EQ(std::stoll(facts.at("memory.total")), pages * sysconf(_SC_PAGESIZE));
    EXPECT_FALSE(facts.at("cpu.model").empty());
    EXPECT_FALSE(facts.at("os").empty());
    EXPECT_FALSE(facts.at("kernel").empty());
    EXPECT_FALSE(facts.at("cpu.affinity").empty());
}

TEST(HostEnvironment, ContainsOnlyVariablesThatAreSet)
{
    setenv("OMP_NUM_THREADS", "3", 1);
    unsetenv("CUDA_LAUNCH_BLOCKING");
    setenv("UNRELATED", "1", 1);
    const auto facts = factsOf(hostEnvironment());
    unsetenv("OMP_NUM_THREADS");
    EXPECT_EQ(facts.at("env.OMP_NUM_THREADS"), "3");
    EXPECT_FALSE(facts.contains("env.CUDA_LAUNCH_BLOCKING"));
    EXPECT_FALSE(facts.contains("env.UNRELATED"));
}

TEST(GpuEnvironment, IsEmptyWithoutTheDriverAndHasBeforeAndAfterWithIt)
{
    const auto before = factsOf(gpuEnvironment(0, Moment::Before));
    const auto after = factsOf(gpuEnvironment(0, Moment::After));
    if (!Nvml::instance() || Nvml::instance()->deviceCount() == 0) {
        EXPECT_TRUE(before.empty());
        EXPECT_TRUE(after.empty());
        return;
    }
    EXPECT_TRUE(before.contains("gpu.name"));
    EXPECT_TRUE(before.contains("gpu.clock.sm.before"));
    EXPECT_FALSE(after.contains("gpu.name"));
    EXPECT_TRUE(after.contains("gpu.clock.sm.after"));
    EXPECT_TRUE(gpuEnvironment(4096, Moment::Before).empty());
}

TEST(ThrottleReasonNames, NameTheBitsThatAreSet)
{
    EXPECT_EQ(throttleReasonNames(0), "none");
    EXPECT_EQ(throttleReasonNames(0x4 | 0x40), "power cap, thermal (hardware)");
}

} // namespace tilescope::machine
