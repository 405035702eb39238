#include "core/analysis/time/step_partition.h"

#include "core/analysis/stats/random.h"
#include "tests/support/fake_trace.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

#include <bitset>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;
using tilescope::testing::FakeTrace;

StepPartition partition(const FakeTrace& trace, std::int64_t start, std::int64_t end)
{
    return partitionStep({timestampAt(start), timestampAt(end)}, trace.batch().deviceEvents,
                         trace.batch().apiCalls);
}

} // namespace

TEST(PartitionStep, IsExactOnAStepMadeByHand)
{
    FakeTrace trace;
    //   0    100   160  200      300  340      500   600        700
    //   |launch...|k1   |k1,k2   |    overhead |k3   |sync      |end of step at 720
    trace.kernel("k1", 100, 300).launchedAt(40);
    trace.kernel("k2", 200, 280).on(8).launchedAt(90);
    trace.call("buffer flush", ApiKind::Overhead, 290, 340);
    trace.kernel("k3", 500, 600).launchedAt(480);
    trace.call("cudaDeviceSynchronize", ApiKind::Synchronize, 490, 700);
    const StepPartition step = partition(trace, 0, 720);
    EXPECT_EQ(step.gpuBusy, 300_ns);
    EXPECT_EQ(step.tracing, 40_ns);                // 300 to 340
    EXPECT_EQ(step.synchronizing, 10_ns + 100_ns); // 490 to 500, 600 to 700
    EXPECT_EQ(step.launching,
              100_ns + 150_ns + 20_ns); // 0 to 100; 340 to the call that waits, at 490; 700 to 720
    EXPECT_EQ(step.unexplained, 0_ns);
    EXPECT_EQ(sumOf(step), 720_ns);
}

TEST(PartitionStep, ClipsEventsToTheStep)
{
    FakeTrace trace;
    trace.kernel("before", 0, 120).launchedAt(0);
    trace.kernel("after", 190, 400).launchedAt(350);
    trace.call("sync", ApiKind::Synchronize, 150, 400);
    const StepPartition step = partition(trace, 100, 200);
    EXPECT_EQ(step.gpuBusy, 30_ns);
    EXPECT_EQ(step.synchronizing, 40_ns);
    EXPECT_EQ(step.launching, 30_ns); // 120 to 150, when the host started to wait
    EXPECT_EQ(step.unexplained, 0_ns);
}

TEST(PartitionStep, ALaunchThatWasRecordedLastsUntilItReturns)
{
    FakeTrace trace;
    trace.call("cudaLaunchKernel", ApiKind::Launch, 10, 60).kernel("k", 80, 90).launchedAt(10);
    const StepPartition step = partition(trace, 0, 100);
    EXPECT_EQ(step.launching, 60_ns + 10_ns);
    EXPECT_EQ(step.unexplained, 20_ns) << "launched, and not begun";
}

TEST(PartitionStep, AfterTheLastWorkTheHostHasNotComeToItsNextLaunch)
{
    FakeTrace trace;
    trace.call("cudaLaunchKernel", ApiKind::Launch, 10, 60).kernel("k", 62, 90);
    const StepPartition step = partition(trace, 0, 30'000'000);
    EXPECT_EQ(step.launching, 60_ns + 29'999'910_ns) << "30 ms of Python";
    EXPECT_EQ(verdictOf(step), StepVerdict::LaunchBound);
    EXPECT_EQ(partition(trace, 100, 200).launching, 100_ns) << "a step that launches nothing";
    EXPECT_EQ(partition(trace, 0, 10).unexplained, 10_ns) << "before the first launch of all";
}

TEST(PartitionStep, WithoutLaunchesAndWaitsNothingIsKnownOfTheHost)
{
    FakeTrace trace;
    trace.kernel("k", 80, 90);
    EXPECT_EQ(partition(trace, 0, 100).unexplained, 90_ns);
}

TEST(PartitionStep, TimeBetweenTheLastLaunchAndTheWaitingCallIsLaunching)
{
    FakeTrace trace;
    trace.kernel("last of backward", 20, 30).launchedAt(10);
    trace.call("cudaDeviceSynchronize", ApiKind::Synchronize, 90, 95);
    const StepPartition step = partition(trace, 0, 100);
    EXPECT_EQ(step.launching, 20_ns + 60_ns + 5_ns);
    EXPECT_EQ(step.synchronizing, 5_ns);
    EXPECT_EQ(step.unexplained, 0_ns);
}

TEST(PartitionStep, WithoutAnyRecordAllIsUnexplained)
{
    const StepPartition step = partition(FakeTrace(), 0, 100);
    EXPECT_EQ(step.unexplained, 100_ns);
    EXPECT_EQ(verdictOf(step), StepVerdict::Unjudged);
    EXPECT_EQ(sumOf(partition(FakeTrace(), 5, 5)), 0_ns);
}

TEST(PartitionStep, AgreesWithLookingAtEveryNanosecond)
{
    constexpr int kEnd = 80;
    Random random(31);
    const auto any = [&random](int bound) {
        return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
    };
    for (int trial = 0; trial < 500; ++trial) {
        FakeTrace trace;
        std::bitset<kEnd + 20> busy;
        std::bitset<kEnd + 20> sync;
        std::bitset<kEnd + 20> overhead;
        int last = 0;
        int done = 0; // when the last work has ended
        bool isHostKnown = false;
        for (int i = any(6); i > 0; --i) {
            const int launch = any(kEnd);
            const int start = launch + any(10);
            const int end = start + any(10);
            trace.kernel("k", start, end).launchedAt(launch);
            for (int t = start; t < end; ++t)
                busy.set(static_cast<std::size_t>(t));
            last = std::max(last, launch);
            done = end > start && start < kEnd ? std::max(done, std::min(end, kEnd)) : done;
            isHostKnown |= launch > 0; // 0: unknown
        }
        for (int i = any(4); i > 0; --i) {
            const bool isSync = any(2) == 0;
            const int start = any(kEnd);
            const int end = start + any(20);
            isHostKnown |= isSync;
            if (isSync)
                last = std::max(last, start);
            trace.call("c", isSync ? ApiKind::Synchronize : ApiKind::Overhead, start, end);
            for (int t = start; t < end; ++t)
                (isSync ? sync : overhead).set(static_cast<std::size_t>(t));
        }
        StepPartition expected;
        for (std::size_t t = 0; t < kEnd; ++t)
            ++(busy[t]       ? expected.gpuBusy
               : overhead[t] ? expected.tracing
               : sync[t]     ? expected.synchronizing
               : t < static_cast<std::size_t>(last) || (isHostKnown && t >= static_cast<std::size_t>(done))
                   ? expected.launching
                   : expected.unexplained);
        const StepPartition step = partition(trace, 0, kEnd);
        EXPECT_EQ(step.gpuBusy, expected.gpuBusy) << "trial " << trial << " of seed 31";
        EXPECT_EQ(step.tracing, expected.tracing) << "trial " << trial;
        EXPECT_EQ(step.synchronizing, expected.synchronizing) << "trial " << trial;
        EXPECT_EQ(step.launching, expected.launching) << "trial " << trial;
        EXPECT_EQ(step.unexplained, expected.unexplained) << "trial " << trial;
    }
}

TEST(StepVerdict, NamesTheReasonForTheIdleTime)
{
    const auto step = [](int busy, int launching, int synchronizing, int tracing) {
        return StepPartition{.wall = {timestampAt(0), timestampAt(100)},
                             .gpuBusy = Nanoseconds(busy),
                             .launching = Nanoseconds(launching),
                             .synchronizing = Nanoseconds(synchronizing),
                             .tracing = Nanoseconds(tracing),
                             .unexplained = Nanoseconds(100 - busy - launching - synchronizing - tracing)};
    };
    EXPECT_EQ(wordOf(verdictOf(step(85, 15, 0, 0))), "GPU-bound");
    EXPECT_EQ(wordOf(verdictOf(step(84, 10, 3, 3))), "launch-bound");
    EXPECT_EQ(wordOf(verdictOf(step(10, 20, 60, 10))), "sync-bound");
    EXPECT_EQ(wordOf(verdictOf(step(10, 20, 10, 60))), "tracing-bound");
    EXPECT_EQ(explain(step(62, 36, 1, 1)), "GPU busy 62.0 %, idle 36.0 % while the host prepares launches");
}

} // namespace tilescope::analysis
