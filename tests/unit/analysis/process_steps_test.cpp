#include "core/analysis/time/process_steps.h"

#include "tests/support/fake_trace.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

/// Work that a step launched.
DeviceEvent work(std::int32_t step, std::int64_t launched, std::int64_t start, std::int64_t end,
                 std::uint32_t stream = 7)
{
    DeviceEvent event;
    event.device = DeviceIndex{0};
    event.stream = StreamId{stream};
    event.step = step;
    event.launched = timestampAt(launched);
    event.start = timestampAt(start);
    event.end = timestampAt(end);
    return event;
}

/// Three steps that replay a CUDA graph of 100 ns each: the host has launched all of them after 30 ns and waits.
ProcessSteps replays()
{
    ProcessSteps steps;
    for (std::int32_t i = 0; i < 3; ++i)
        steps.addStep(i, between(10 * i, 10 * i + 10));
    for (std::int32_t i = 0; i < 3; ++i) {
        steps.addDeviceEvent(work(i, 10 * i + 2, 20 + 100 * i, 80 + 100 * i));
        steps.addDeviceEvent(work(i, 10 * i + 2, 80 + 100 * i, 120 + 100 * i));
    }
    steps.addCall(ApiKind::Synchronize, between(31, 320));
    return steps;
}

std::vector<Interval> wallsOf(const ProcessSteps& steps)
{
    std::vector<Interval> walls;
    for (const StepPartition& step : steps.partitions())
        walls.push_back(step.wall);
    return walls;
}

} // namespace

TEST(ProcessSteps, TakeAsLongAsTheirWorkOnTheDevice)
{
    EXPECT_EQ(wallsOf(replays()), (std::vector{between(0, 120), between(120, 220), between(220, 320)}));
}

TEST(ProcessSteps, OfAsynchronousReplaysAreGpuBound)
{
    const std::vector<StepPartition> steps = replays().partitions();
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].gpuBusy, 100_ns);
    EXPECT_EQ(steps[0].launching,
              20_ns); // before its first kernel, while the host was still in its first steps
    EXPECT_EQ(verdictOf(steps[0]), StepVerdict::LaunchBound);
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_EQ(steps[i].gpuBusy, 100_ns);
        EXPECT_EQ(verdictOf(steps[i]), StepVerdict::GpuBound);
    }
    for (const StepPartition& step : steps)
        EXPECT_EQ(sumOf(step), step.wall.length());
}

TEST(ProcessSteps, ThatWaitForTheDeviceTakeTheirHostRange)
{
    ProcessSteps steps;
    steps.addStep(4, between(0, 100));
    steps.addStep(5, between(150, 250));
    steps.addDeviceEvent(work(4, 10, 20, 90));
    steps.addDeviceEvent(work(5, 160, 170, 240));
    steps.addCall(ApiKind::Synchronize, between(50, 95));
    EXPECT_EQ(wallsOf(steps), (std::vector{between(0, 100), between(150, 250)}));
    const std::vector<StepPartition> parts = steps.partitions();
    EXPECT_EQ(parts[0].gpuBusy, 70_ns);
    EXPECT_EQ(parts[0].launching, 20_ns + 5_ns);
    EXPECT_EQ(parts[0].synchronizing, 5_ns);
    EXPECT_EQ(parts[0].unexplained, 0_ns);
}

TEST(ProcessSteps, AreNotHeldBackByACopyInTheBackground)
{
    ProcessSteps steps = replays();
    steps.addDeviceEvent(work(0, 5, 60, 290, 20));
    EXPECT_EQ(wallsOf(steps), (std::vector{between(0, 120), between(120, 220), between(220, 320)}));
    EXPECT_EQ(steps.partitions()[1].gpuBusy, 100_ns);
}

TEST(StepWork, AddsUpTheEventsOfEachStepAndStream)
{
    StepWork sums;
    sums.add(work(1, 0, 10, 20));
    sums.add(work(2, 0, 20, 25));
    sums.add(work(1, 0, 30, 45));
    sums.add(work(1, 0, 12, 40, 20));
    ASSERT_EQ(sums.totals().size(), 3U);
    EXPECT_EQ(sums.totals()[0].busy, 25_ns);
    EXPECT_EQ(sums.totals()[0].end, timestampAt(45));
    EXPECT_EQ(sums.totals()[1].busy, 5_ns);
    EXPECT_EQ(sums.totals()[2].stream, StreamId{20});
    EXPECT_EQ(sums.totals()[2].busy, 28_ns);
}

TEST(StepWalls, LeaveOutWorkOfOtherSteps)
{
    StepWork sums;
    sums.add(work(0, 0, 10, 120));
    sums.add(work(9, 0, 0, 5'000, 20)); // the busiest stream, but of no step in question
    EXPECT_EQ(stepWalls({{0, between(0, 10)}, {1, between(10, 20)}}, sums.totals()),
              (std::vector{between(0, 120), between(120, 120)}));
    EXPECT_EQ(stepWalls({{0, between(0, 10)}}, {}), std::vector{between(0, 10)});
}

TEST(ProcessSteps, CountLaunchesOfTheirOwnOnly)
{
    ProcessSteps steps;
    steps.addStep(0, between(0, 50));
    steps.addStep(1, between(50, 100));
    steps.addDeviceEvent(work(0, 5, 10, 20));
    steps.addDeviceEvent(work(0, 30, 40, 45));
    steps.addDeviceEvent(
        work(0, 32, 70, 90)); // its predecessor on the device left a gap that no launch explains
    steps.addCall(ApiKind::Launch, between(60, 65));
    const StepPartition first = steps.partitions().front();
    EXPECT_EQ(first.wall, between(0, 90));
    EXPECT_EQ(first.gpuBusy, 35_ns);
    EXPECT_EQ(first.launching, 10_ns + 12_ns);
    EXPECT_EQ(first.unexplained, 8_ns + 25_ns);
}

TEST(ProcessSteps, WithoutWorkOfTheirOwnMayBeEmpty)
{
    ProcessSteps steps = replays();
    EXPECT_EQ(ProcessSteps().partitions().size(), 0U);
    ProcessSteps idle;
    idle.addStep(0, between(0, 10));
    idle.addStep(1, between(10, 20));
    idle.addStep(2, between(20, 30));
    idle.addDeviceEvent(work(0, 1, 5, 25));
    EXPECT_EQ(wallsOf(idle), (std::vector{between(0, 25), between(25, 25), between(25, 30)}));
    EXPECT_EQ(sumOf(idle.partitions()[1]), 0_ns);
}

} // namespace tilescope::analysis
