#include "core/analysis/path/what_if.h"

#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace tilescope::analysis {

namespace {

using testing::FakeTrace;

/// Two steps of one process on a GPU. A step launches `kernels` kernels, one each `interval` ns, which take
/// `length` ns, and waits for them.
class TwoSteps {
public:
    /// \param other  name of every second kernel, from the first one on
    TwoSteps(int kernels, std::int64_t interval, std::int64_t length, std::string_view other = {})
    {
        std::int64_t host = 0;
        std::int64_t device = 0;
        for (int step = 0; step < 2; ++step) {
            const std::int64_t start = host;
            FakeTrace inner(strings_);
            for (int i = 0; i < kernels; ++i) {
                host += interval;
                device = std::max(device + 1'000, host + 5'000);
                const bool isOther = !other.empty() && i % 2 == 0;
                kernels_.push_back({host, device, device + length, step, isOther});
                device += length;
            }
            const std::int64_t call = host + interval;
            host = std::max(call, device) + 3'000;
            trace_.step(step, start, host).call("cudaStreamSynchronize", ApiKind::Synchronize, call, host);
        }
        for (const auto& [launched, from, to, step, isOther] : kernels_)
            trace_
                .kernel(isOther                      ? other
                        : step == 0 && from % 2 == 0 ? "sm90_xmma_gemm_bf16"
                                                     : "softmax_warp_forward",
                        from, to)
                .launchedAt(launched);
        device_ = trace_.batch().deviceEvents;
        for (std::size_t i = 0; i < device_.size(); ++i) {
            device_[i].launchThread = ThreadId{1};
            device_[i].step = kernels_[i].step;
        }
        const TraceBatch& batch = trace_.batch();
        recorded_ = recordedGraph({.ranges = batch.ranges,
                                   .ops = {},
                                   .frames = {},
                                   .calls = batch.apiCalls,
                                   .device = device_,
                                   .waits = {},
                                   .collectives = {},
                                   .topology = topology_,
                                   .textOf = trace_.textOf()});
        for (const Range& range : batch.ranges)
            steps_.push_back({.step = range.step,
                              .thread = ThreadId{1},
                              .wall = {range.start, range.end},
                              .host = {range.start, range.end}});
    }

    std::vector<Nanoseconds> after(const PathChange& change) const
    {
        std::vector<Nanoseconds> lengths;
        for (const Interval& wall : changedWalls(recorded_, steps_, changedTimes(recorded_, change)))
            lengths.push_back(wall.length());
        return lengths;
    }
    std::vector<bool> without(const std::function<bool(const PathSource&)>& isLeftOut) const
    {
        std::vector<Timestamp> starts;
        for (const RecordedStep& step : steps_)
            starts.push_back(step.host.start);
        return removedActivities(recorded_, isLeftOut, starts);
    }
    std::vector<bool> without(std::string_view kernel) const
    {
        return without([text = trace_.textOf(), kernel](const PathSource& source) {
            return !source.thread && text(source.name) == kernel;
        });
    }
    Nanoseconds wall(std::size_t step) const { return steps_[step].wall.length(); }
    const RecordedGraph& recorded() const { return recorded_; }

private:
    struct Kernel {
        std::int64_t launched;
        std::int64_t from;
        std::int64_t to;
        std::int32_t step;
        bool isOther;
    };
    StringTable strings_;
    FakeTrace trace_{strings_};
    std::vector<Kernel> kernels_;
    std::vector<DeviceEvent> device_;
    TopologyIndex topology_;
    RecordedGraph recorded_;
    std::vector<RecordedStep> steps_;
};

} // namespace

TEST(WhatIf, NoChangeGivesTheRecordedTimesExactly)
{
    for (const std::int64_t length : {2'000, 40'000}) {
        const TwoSteps steps(20, 10'000, length);
        const std::vector<Interval> times = changedTimes(steps.recorded(), {});
        for (std::size_t i = 0; i < times.size(); ++i)
            ASSERT_EQ(times[i], steps.recorded().graph.activities()[i].time);
        const auto lengths = steps.after({});
        EXPECT_EQ(lengths[0], steps.wall(0));
        EXPECT_EQ(lengths[1], steps.wall(1));
    }
}

TEST(WhatIf, FasterKernelsShortenAStepThatTheyLimit)
{
    const TwoSteps before(20, 10'000, 40'000);
    const TwoSteps rerun(20, 10'000, 20'000);
    const auto after =
        before.after({.factorOf = [](const PathSource& source) { return source.thread ? 1.0 : 0.5; }});
    for (const std::size_t step : {0U, 1U})
        EXPECT_NEAR(static_cast<double>(after[step].count()), static_cast<double>(rerun.wall(step).count()),
                    0.01 * static_cast<double>(rerun.wall(step).count()));
}

TEST(WhatIf, FasterKernelsDoNotShortenAStepThatLaunchesLimit)
{
    const TwoSteps before(20, 10'000, 2'000);
    const auto after =
        before.after({.factorOf = [](const PathSource& source) { return source.thread ? 1.0 : 0.5; }});
    EXPECT_EQ(after[0], before.wall(0)) << "each kernel ends before the next is launched";
}

TEST(WhatIf, FreeLaunchesLeaveTheKernels)
{
    const TwoSteps before(20, 10'000, 2'000);
    const auto after = before.after({.freeLaunches = true});
    // 20 kernels and the gaps between them.
    EXPECT_GE(after[0], Nanoseconds(20 * 2'000));
    EXPECT_LE(after[0], Nanoseconds(20 * (2'000 + 1'500) + 3'000))
        << "gaps in which each kernel waited for its launch do not show how kernels follow each other";
    EXPECT_LT(after[0], before.wall(0));
    // The call that waits returns 3 us after the last kernel.
    EXPECT_EQ(before.after({.freeLaunches = true, .freeGaps = true})[0], Nanoseconds(20 * 2'000 + 3'000));
}

TEST(WhatIf, AFullQueueKeepsItsDepth)
{
    // Each call takes 4 µs, or returns 1 µs after the third kernel before has ended. A kernel takes 50 µs. The
    // step ends when its last launch has returned.
    constexpr std::int64_t kMicro = 1'000;
    constexpr std::size_t kKernels = 40;
    FakeTrace trace;
    std::vector<Interval> calls;
    std::vector<std::int64_t> ends;
    std::int64_t host = 2;
    for (std::size_t i = 0; i < kKernels; ++i) {
        const std::int64_t returned = std::max(host + 4, i < 3 ? 0 : ends[i - 3] + 1);
        calls.push_back({timestampAt(host * kMicro), timestampAt(returned * kMicro)});
        ends.push_back(std::max(ends.empty() ? 0 : ends.back() + 1, returned + 2) + 50);
        host = returned + 1;
    }
    trace.step(0, 0, host * kMicro);
    for (std::size_t i = 0; i < kKernels; ++i)
        trace
            .call("cudaLaunchKernel", ApiKind::Launch, nanosecondsOf(calls[i].start),
                  nanosecondsOf(calls[i].end))
            .kernel("sm90_xmma_gemm_bf16", (ends[i] - 50) * kMicro, ends[i] * kMicro)
            .launchedAt(nanosecondsOf(calls[i].start));
    TraceBatch batch = trace.batch();
    for (std::size_t i = 0; i < kKernels; ++i) {
        batch.deviceEvents[i].launchThread = ThreadId{1};
        batch.apiCalls[i].correlation = batch.deviceEvents[i].correlation;
    }
    const TopologyIndex topology;
    const RecordedGraph recorded = recordedGraph({.ranges = batch.ranges,
                                                  .ops = {},
                                                  .frames = {},
                                                  .calls = batch.apiCalls,
                                                  .device = batch.deviceEvents,
                                                  .waits = {},
                                                  .collectives = {},
                                                  .topology = topology,
                                                  .textOf = trace.textOf()});
    const Interval wall{timestampAt(0), timestampAt(host * kMicro)};
    const std::vector<RecordedStep> steps{{.step = 0, .thread = ThreadId{1}, .wall = wall, .host = wall}};
    const auto after = [&](double factor) {
        const PathChange change{.factorOf = [factor](const PathSource& source) {
            return source.kind == PathSource::Kind::Kernel ? factor : 1.0;
        }};
        return changedWalls(recorded, steps, changedTimes(recorded, change)).front().length();
    };
    EXPECT_EQ(after(1), wall.length());
    // 37 kernels have to end before the last launch returns.
    EXPECT_NEAR(static_cast<double>((wall.length() - after(0.5)).count()), 37 * 25.0 * kMicro, 10.0 * kMicro);
}

TEST(WhatIf, ACopyFromPageableMemoryWouldWaitForLongerWork)
{
    constexpr std::int64_t kMicro = 1'000;
    FakeTrace trace;
    trace.step(0, 0, 110 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 2 * kMicro, 6 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 10 * kMicro, 50 * kMicro)
        .launchedAt(2 * kMicro)
        .call("cudaMemcpyAsync", ApiKind::Memory, 60 * kMicro, 80 * kMicro)
        .kernel("Memcpy HtoD (Pageable -> Device)", 85 * kMicro, 100 * kMicro)
        .launchedAt(60 * kMicro);
    TraceBatch batch = trace.batch();
    for (std::size_t i = 0; i < 2; ++i) {
        batch.deviceEvents[i].launchThread = ThreadId{1};
        batch.apiCalls[i].correlation = batch.deviceEvents[i].correlation;
    }
    batch.deviceEvents[1].kind = DeviceEventKind::Memcpy;
    batch.deviceEvents[1].copy = CopyKind::HostToDevice;
    const TopologyIndex topology;
    const Interval wall{timestampAt(0), timestampAt(110 * kMicro)};
    const std::vector<RecordedStep> steps{{.step = 0, .thread = ThreadId{1}, .wall = wall, .host = wall}};
    for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{1} << 20}) {
        batch.deviceEvents[1].bytes = bytes;
        const RecordedGraph recorded = recordedGraph({.ranges = batch.ranges,
                                                      .ops = {},
                                                      .frames = {},
                                                      .calls = batch.apiCalls,
                                                      .device = batch.deviceEvents,
                                                      .waits = {},
                                                      .collectives = {},
                                                      .topology = topology,
                                                      .textOf = trace.textOf()});
        const PathChange change{.factorOf = [](const PathSource& source) {
            return source.kind == PathSource::Kind::Kernel ? 3.0 : 1.0;
        }};
        const Nanoseconds after =
            changedWalls(recorded, steps, changedTimes(recorded, change)).front().length();
        // The kernel ends at 130, 70 later than the call began.
        if (bytes == 4)
            EXPECT_LT(after, wall.length() + Nanoseconds(60 * kMicro))
                << "a small copy travels with its command";
        else
            EXPECT_GE(after, wall.length() + Nanoseconds(69 * kMicro));
    }
}

TEST(WhatIf, WorkThatIsLeftOutGoesWithTheTimeOfItsLaunches)
{
    // Limited by launches and by kernels: as if only the others had been recorded.
    for (const std::int64_t length : {2'000, 40'000}) {
        const TwoSteps both(40, 10'000, length, "left_out");
        const TwoSteps rerun(20, 10'000, length);
        const auto after = both.after({.removed = both.without("left_out")});
        EXPECT_EQ(after[0], rerun.wall(0)) << length;
        EXPECT_EQ(after[1], rerun.wall(1)) << length;
    }
}

TEST(WhatIf, AStepWithoutItsKernelsStillWaits)
{
    const TwoSteps before(20, 10'000, 2'000);
    const auto after = before.after({.removed = before.without([](const PathSource& source) {
        return !source.thread && source.step == 1;
    })});
    EXPECT_EQ(after[0], before.wall(0)) << "the end of a step is not for a launch in the next";
    EXPECT_EQ(after[1], Nanoseconds(10'000 + 3'000)) << "from the last launch to the call, and its return";
}

TEST(WhatIf, ALaunchOfSeveralKernelsRemainsUntilAllAreLeftOut)
{
    StringTable strings;
    FakeTrace trace(strings);
    trace.step(0, 0, 100'000);
    trace.kernel("left_out", 60'000, 70'000).launchedAt(50'000);
    trace.kernel("other", 71'000, 90'000).launchedAt(50'000);
    std::vector<DeviceEvent> device = trace.batch().deviceEvents;
    for (DeviceEvent& event : device)
        event.launchThread = ThreadId{1};
    const TopologyIndex topology;
    const RecordedGraph recorded = recordedGraph({.ranges = trace.batch().ranges,
                                                  .ops = {},
                                                  .frames = {},
                                                  .calls = {},
                                                  .device = device,
                                                  .waits = {},
                                                  .collectives = {},
                                                  .topology = topology,
                                                  .textOf = trace.textOf()});
    const auto hostTimeWithout = [&](const std::function<bool(std::string_view)>& isLeftOut) {
        const std::vector<bool> removed =
            removedActivities(recorded,
                              [&](const PathSource& source) {
                                  return !source.thread && isLeftOut(trace.textOf()(source.name));
                              },
                              {});
        Nanoseconds time{0};
        for (std::uint32_t i = 0; i < removed.size(); ++i)
            if (removed[i] && recorded.sourceOf(i).thread)
                time += recorded.graph.activities()[i].time.length();
        return time;
    };
    EXPECT_EQ(hostTimeWithout([](std::string_view name) { return name == "left_out"; }), Nanoseconds(0));
    EXPECT_EQ(hostTimeWithout([](std::string_view) { return true; }), Nanoseconds(50'000));
}

} // namespace tilescope::analysis
