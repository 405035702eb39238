#include "core/analysis/advice/idle_causes.h"

#include "core/analysis/time/step_partition.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

const Stake& of(const std::array<Stake, kIdleCauses>& causes, IdleCause cause)
{
    return causes[static_cast<std::size_t>(cause)];
}

/// A step of 100 ns: kernels from 20 to 40 and from 70 to 80, launched until 65.
struct Step {
    std::vector<Interval> walls{between(0, 100)};
    std::vector<Interval> busy{between(20, 40), between(70, 80)};
    IdleReasons reasons{.next = {{between(20, 40), 5}, {between(70, 80), 6}},
                        .lastErrands = {timestampAt(65)}};

    std::array<Stake, kIdleCauses> causes() const { return idleCauses(walls, busy, reasons); }
};

} // namespace

TEST(IdleCauses, LaunchingCountsForWhatIsLaunchedNext)
{
    const auto causes = Step().causes();
    const Stake& launching = of(causes, IdleCause::Launching);
    EXPECT_EQ(launching.time, 20_ns + 25_ns);
    EXPECT_EQ(launching.parts[0].group, 6U);
    EXPECT_EQ(launching.parts[0].atStake, 25_ns);
    EXPECT_EQ(launching.parts[1].group, 5U);
    EXPECT_EQ(of(causes, IdleCause::Unexplained).time, 5_ns + 20_ns) << "after the last launch";
}

TEST(IdleCauses, AfterTheLastActivityTheHostHasNotComeToItsNextLaunch)
{
    Step step;
    step.reasons.firstErrand = timestampAt(0);
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Launching).time, 20_ns + 25_ns + 20_ns);
    EXPECT_EQ(of(causes, IdleCause::Launching).parts[0].group, 6U) << "of what was launched last";
    EXPECT_EQ(of(causes, IdleCause::Launching).parts[0].atStake, 25_ns + 20_ns);
    EXPECT_EQ(of(causes, IdleCause::Unexplained).time, 5_ns) << "launched, and not begun";
}

TEST(IdleCauses, BeforeTheFirstLaunchNothingIsKnownOfTheHost)
{
    Step step;
    step.walls.insert(step.walls.begin(), between(-100, 0));
    step.reasons.lastErrands.insert(step.reasons.lastErrands.begin(), Timestamp::min());
    step.reasons.firstErrand = timestampAt(10);
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Launching).time, 20_ns + 25_ns + 20_ns) << "of the second step";
    EXPECT_EQ(of(causes, IdleCause::Unexplained).time, 100_ns + 5_ns);
    const StepPartition first = partitionStep(step.walls.front(), {}, {});
    EXPECT_EQ(first.unexplained, 100_ns) << "the table of steps says the same";
    step.reasons.firstErrand = timestampAt(-200);
    EXPECT_EQ(of(step.causes(), IdleCause::Launching).time, 100_ns + 20_ns + 25_ns + 20_ns);
}

TEST(IdleCauses, AWaitCountsUntilTheNextLaunch)
{
    Step step;
    step.reasons.waiting = {{between(25, 45), 3}};
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Synchronization).time, 20_ns)
        << "from 40 to 60: the call waited 15 ns for work";
    EXPECT_EQ(of(causes, IdleCause::Synchronization).parts[0],
              (StakePart{.group = 3, .count = 1, .total = 20_ns, .atStake = 20_ns}));
    EXPECT_EQ(of(causes, IdleCause::Launching).time, 20_ns + 5_ns);
}

TEST(IdleCauses, AWaitOnAnIdleGpuCostsOnlyItself)
{
    Step step;
    step.reasons.waiting = {{between(50, 52), 3}};
    EXPECT_EQ(of(step.causes(), IdleCause::Synchronization).time, 2_ns);
    EXPECT_EQ(of(step.causes(), IdleCause::Launching).time, 43_ns);
}

TEST(IdleCauses, AWaitThatEndsWhileTheGpuIsBusyCostsNothing)
{
    Step step;
    step.reasons.waiting = {{between(22, 38), 3}};
    EXPECT_EQ(of(step.causes(), IdleCause::Synchronization).time, 0_ns);
    EXPECT_EQ(of(step.causes(), IdleCause::Launching).time, 45_ns);
}

TEST(IdleCauses, WhatWasNotRecordedIsUnexplainedWhateverTheHostDid)
{
    Step step;
    step.reasons.unrecorded = {between(45, 70)};
    step.reasons.waiting = {{between(25, 69), 3}};
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Synchronization).time, 5_ns) << "from 40 to 45";
    EXPECT_EQ(of(causes, IdleCause::Launching).time, 20_ns);
    EXPECT_EQ(of(causes, IdleCause::Unexplained).time, 25_ns + 20_ns);
}

TEST(IdleCauses, DataLoadingAndAllocationComeBeforeWaits)
{
    Step step;
    step.reasons.tracing = {between(0, 2)};
    step.reasons.loading = {{between(1, 30), 1}};
    step.reasons.allocating = {{between(45, 50), 2}};
    step.reasons.waiting = {{between(38, 62), 3}};
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Tracing).time, 2_ns);
    EXPECT_EQ(of(causes, IdleCause::DataLoading).time, 18_ns);
    EXPECT_EQ(of(causes, IdleCause::Allocating).time, 5_ns);
    EXPECT_EQ(of(causes, IdleCause::Synchronization).time, 19_ns);
    EXPECT_EQ(of(causes, IdleCause::Launching).time, 1_ns) << "the call waited 2 ns for work";
    Nanoseconds sum{0};
    for (const Stake& cause : causes)
        sum += cause.time;
    EXPECT_EQ(sum, 70_ns) << "all idle time";
}

TEST(IdleCauses, AgreeWithThePartsOfTheStep)
{
    Step step;
    step.reasons.tracing = {between(10, 15)};
    step.reasons.waiting = {{between(78, 90), 3}};
    step.reasons.lastErrands = {timestampAt(78)};
    step.reasons.firstErrand = timestampAt(0);
    std::vector<DeviceEvent> device(2);
    for (std::size_t i = 0; i < 2; ++i) {
        device[i].start = step.busy[i].start;
        device[i].end = step.busy[i].end;
        device[i].launched = timestampAt(65);
    }
    std::vector<ApiCall> calls(2);
    calls[0] = {.kind = ApiKind::Overhead, .start = timestampAt(10), .end = timestampAt(15)};
    calls[1] = {.kind = ApiKind::Synchronize, .start = timestampAt(78), .end = timestampAt(90)};
    const StepPartition parts = partitionStep(step.walls.front(), device, calls);
    const auto causes = step.causes();
    EXPECT_EQ(of(causes, IdleCause::Tracing).time, parts.tracing);
    // The host waited 2 ns for work, and would have launched so much earlier.
    EXPECT_EQ(of(causes, IdleCause::Synchronization).time, parts.synchronizing + 2_ns);
    EXPECT_EQ(of(causes, IdleCause::Launching).time, parts.launching - 2_ns);
    EXPECT_EQ(of(causes, IdleCause::Unexplained).time, parts.unexplained);
}

} // namespace tilescope::analysis
