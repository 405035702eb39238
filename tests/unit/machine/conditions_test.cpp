#include "core/machine/conditions.h"

#include "core/machine/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace tilescope::machine {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Conditions, WaitingIsTheMaximumOverThreadsThatLivedThroughout)
{
    const Conditions from{.at = timestampAt(0), .waited = {{1, 10_ns}, {2, 0_ns}, {3, 0_ns}}};
    const Conditions to{.at = timestampAt(1000), .waited = {{1, 60_ns}, {2, 200_ns}, {4, 900_ns}}};
    EXPECT_DOUBLE_EQ(*waitingShare(from, to), 0.2);
    EXPECT_FALSE(waitingShare({}, to));
}

TEST(Conditions, SomeThreadWaitsUnlessAllHaveACore)
{
    const Conditions from{.at = timestampAt(0), .waited = {{1, 10_ns}, {2, 0_ns}, {3, 0_ns}}};
    Conditions to{.at = timestampAt(1000), .waited = {{1, 60_ns}, {2, 200_ns}, {4, 900_ns}}};
    EXPECT_DOUBLE_EQ(*someWaitingShare(from, to), 1 - 0.95 * 0.8);
    to.waited[3] = 5000_ns; // a wait that had begun before
    EXPECT_DOUBLE_EQ(*someWaitingShare(from, to), 1);
    EXPECT_FALSE(someWaitingShare({}, to));
}

TEST(Conditions, StolenIsAShareOfAllTicks)
{
    Conditions from{.stolen = 5, .allTicks = 100};
    const Conditions to{.stolen = 15, .allTicks = 300};
    EXPECT_DOUBLE_EQ(*stolenShare(from, to), 0.05);
    from.allTicks = 300;
    EXPECT_FALSE(stolenShare(from, to));
    EXPECT_FALSE(stolenShare({}, to));
}

TEST(Conditions, OrdinaryLimitsAreNotSlowdowns)
{
    const Conditions idle{.throttleReasons = 0x01 | 0x02 | 0x04};
    EXPECT_THAT(slowdowns(idle, idle), IsEmpty());
    const Conditions hot{.throttleReasons = kThermalHardware | kPowerBrake | 0x04};
    EXPECT_THAT(slowdowns(idle, hot), ElementsAre("thermal (hardware)", "power brake"));
    EXPECT_THAT(slowdowns({}, {}), IsEmpty());
}

TEST(Conditions, ContainThisProcessesThreads)
{
    const Conditions now = conditionsNow({});
    if (now.waited.empty())
        GTEST_SKIP() << "this kernel does not account for waiting threads";
    EXPECT_TRUE(now.waited.contains(static_cast<int>(getpid())));
    EXPECT_FALSE(now.smClockMhz);
}

} // namespace tilescope::machine
