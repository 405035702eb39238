#include "core/analysis/time/busy_parts.h"

#include "core/analysis/ranks/rank_step.h"
#include "core/analysis/time/process_steps.h"
#include "tests/unit/analysis/intervals.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

DeviceEvent eventOf(Interval time)
{
    DeviceEvent event;
    event.device = DeviceIndex{0};
    event.stream = StreamId{7};
    event.step = 0;
    event.launched = time.start;
    event.start = time.start;
    event.end = time.end;
    return event;
}

/// Classifies each nanosecond individually.
BusyParts bruteForce(Interval wall, const std::array<std::vector<Interval>, kDeviceWorks>& work)
{
    BusyParts parts;
    for (Timestamp t = wall.start; t < wall.end; t += 1_ns) {
        const auto runs = [&](DeviceWork kind) {
            for (const Interval& each : work[static_cast<std::size_t>(kind)])
                if (each.start <= t && t < each.end)
                    return true;
            return false;
        };
        if (runs(DeviceWork::Compute)) {
            parts.compute += 1_ns;
            parts.overlapped += runs(DeviceWork::Communication) ? 1_ns : 0_ns;
        } else if (runs(DeviceWork::Communication)) {
            parts.exposedCommunication += 1_ns;
        } else if (runs(DeviceWork::Copy)) {
            parts.exposedCopies += 1_ns;
        }
    }
    return parts;
}

} // namespace

TEST(BusyParts, ComputeComesBeforeCommunicationAndCommunicationBeforeCopies)
{
    const std::vector<Interval> compute{between(0, 10)};
    const std::vector<Interval> communication{between(5, 20)};
    const std::vector<Interval> copies{between(8, 30)};
    EXPECT_EQ(
        partitionBusy(between(0, 100), compute, communication, copies),
        (BusyParts{
            .compute = 10_ns, .exposedCommunication = 10_ns, .exposedCopies = 10_ns, .overlapped = 5_ns}));
}

TEST(BusyParts, OnlyWhatLiesWithinTheWallCounts)
{
    const std::vector<Interval> compute{between(0, 10)};
    const std::vector<Interval> communication{between(5, 50)};
    EXPECT_EQ(partitionBusy(between(8, 20), compute, communication, {}),
              (BusyParts{.compute = 2_ns, .exposedCommunication = 10_ns, .overlapped = 2_ns}));
    EXPECT_EQ(partitionBusy(between(60, 60), compute, communication, {}), BusyParts{});
}

TEST(BusyParts, AreThoseOfEachNanosecondAndAddUpToTheBusyTime)
{
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        std::uniform_int_distribution<std::int64_t> start(0, 300);
        std::uniform_int_distribution<std::int64_t> length(0, 40);
        std::uniform_int_distribution<std::size_t> kind(0, kDeviceWorks - 1);
        const Interval wall = between(50, 250);
        ProcessSteps steps;
        steps.addStep(0, wall);
        steps.addCall(ApiKind::Synchronize, between(120, 180));
        std::array<std::vector<Interval>, kDeviceWorks> work;
        for (int i = 0; i < 12; ++i) {
            const std::size_t of = kind(random);
            const std::int64_t from = start(random);
            // The wall of a step ends with its last work, so that this may not lie behind it.
            const Interval time = between(from, std::min<std::int64_t>(250, from + length(random)));
            if (time.end <= time.start)
                continue;
            work[of].push_back(time);
            steps.addDeviceEvent(eventOf(time), static_cast<DeviceWork>(of));
        }
        ASSERT_EQ(steps.busyParts().size(), 1U);
        const BusyParts parts = steps.busyParts().front();
        EXPECT_EQ(parts, bruteForce(wall, work));
        const StepPartition step = steps.partitions().front();
        EXPECT_EQ(parts.compute + parts.exposedCommunication + parts.exposedCopies, step.gpuBusy);
        const RankStep rank = rankStepOf(step, parts);
        EXPECT_EQ(rank.compute + rank.exposedCommunication + rank.exposedCopies + rank.host + rank.idle,
                  rank.wall.length());
        EXPECT_EQ(rank.idle, step.unexplained);
    }
}

TEST(RankStep, OnACpuIsOpsThenCollectivesThenIdle)
{
    const std::vector<Interval> ops{between(10, 40)};
    const std::vector<Interval> collectives{between(30, 60)};
    const RankStep step = rankStepOnCpu(between(0, 100), ops, collectives);
    EXPECT_EQ(step.compute, 30_ns);
    EXPECT_EQ(step.exposedCommunication, 20_ns);
    EXPECT_EQ(step.overlapped, 10_ns);
    EXPECT_EQ(step.idle, 50_ns);
    EXPECT_EQ(step.host, 0_ns);
}

} // namespace tilescope::analysis
