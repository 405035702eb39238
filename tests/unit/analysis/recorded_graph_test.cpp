#include "core/analysis/path/recorded_graph.h"

#include "core/analysis/path/critical_path.h"
#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using testing::FakeTrace;
using namespace literals;

constexpr std::int64_t kMicro = 1'000;

/// The critical path of a recording of one process whose main thread is 1.
class RecordedPath : public ::testing::Test {
protected:
    std::vector<PathSegment> pathOf(FakeTrace& trace, std::int64_t start, std::int64_t end, bool onGpu = true)
    {
        const TraceBatch& batch = trace.batch();
        recorded_ = recordedGraph({.ranges = batch.ranges,
                                   .ops = batch.ops,
                                   .frames = batch.frames,
                                   .calls = calls_.empty() ? batch.apiCalls : calls_,
                                   .device = device_.empty() ? batch.deviceEvents : device_,
                                   .waits = waits_,
                                   .collectives = collectives_,
                                   .parties = parties_,
                                   .textOf = trace.textOf(),
                                   .onGpu = onGpu});
        const Interval wall{timestampAt(start), timestampAt(end)};
        const auto last = recorded_.lastOf({}, ThreadId{1}, wall.end);
        if (!last)
            return {};
        std::vector<PathSegment> path = criticalPath(recorded_.graph, *last, wall);
        EXPECT_EQ(partsOf(path).sum(), wall.length());
        return path;
    }
    /// "kernel 10 launch 5 …": parts with their lengths in µs.
    static std::string textOf(const std::vector<PathSegment>& path)
    {
        std::string text;
        for (const PathSegment& segment : path)
            text += (text.empty() ? "" : ", ") + std::string(wordOf(segment.part)) + " " +
                    std::to_string(segment.time.length().count() / kMicro);
        return text;
    }

    PartyIndex parties_;
    RecordedGraph recorded_;
    std::vector<ApiCall> calls_;
    std::vector<DeviceEvent> device_;
    std::vector<Wait> waits_;
    std::vector<Collective> collectives_;
};

} // namespace

TEST_F(RecordedPath, LeadsFromALaunchOverTheKernelToTheCallThatWaitsForIt)
{
    FakeTrace trace;
    trace.step(0, 0, 100 * kMicro)
        .op("aten::mm", 10 * kMicro, 30 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 20 * kMicro, 28 * kMicro)
        .call("cudaStreamSynchronize", ApiKind::Synchronize, 40 * kMicro, 95 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 30 * kMicro, 90 * kMicro)
        .launchedAt(20 * kMicro);
    device_ = trace.batch().deviceEvents;
    device_[0].launchThread = ThreadId{1};
    EXPECT_EQ(textOf(pathOf(trace, 0, 100 * kMicro)),
              "host 10, host 10, launch 10, compute 60, synchronization 5, host 5");
}

TEST_F(RecordedPath, StaysOnTheStreamWhereTheHostIsAhead)
{
    FakeTrace trace;
    trace.step(0, 0, 30 * kMicro);
    for (int i = 0; i < 5; ++i)
        trace
            .kernel(i % 2 == 0 ? "sm90_xmma_gemm_bf16" : "vectorized_elementwise_kernel",
                    (10 + i * 20) * kMicro, (29 + i * 20) * kMicro)
            .launchedAt((5 + i) * kMicro);
    device_ = trace.batch().deviceEvents;
    for (DeviceEvent& event : device_)
        event.launchThread = ThreadId{1};
    EXPECT_EQ(textOf(pathOf(trace, 0, 109 * kMicro)), "host 5, launch 5, compute 19, launch 1, memory 19, "
                                                      "launch 1, compute 19, launch 1, memory 19, launch 1, "
                                                      "compute 19");
}

TEST_F(RecordedPath, FollowsARecordedWaitOfAStream)
{
    FakeTrace trace;
    trace.step(0, 0, 10 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 5 * kMicro, 50 * kMicro)
        .launchedAt(1 * kMicro)
        .kernel("vectorized_elementwise_kernel", 52 * kMicro, 60 * kMicro)
        .on(20)
        .launchedAt(2 * kMicro);
    waits_ = {{.kind = WaitKind::StreamWait,
               .device = DeviceIndex{0},
               .stream = StreamId{20},
               .waitedFor = StreamId{7},
               .correlation = CorrelationId{12},
               .recordCorrelation = CorrelationId{11}}};
    device_ = trace.batch().deviceEvents;
    device_[0].correlation = CorrelationId{10};
    device_[1].correlation = CorrelationId{13};
    for (DeviceEvent& event : device_)
        event.launchThread = ThreadId{1};
    const std::vector<PathSegment> path = pathOf(trace, 0, 60 * kMicro);
    EXPECT_EQ(textOf(path), "host 1, launch 4, compute 45, launch 2, memory 8");
    EXPECT_EQ(path.back().cause, Cause::StreamWait);
}

TEST_F(RecordedPath, InfersAWaitThatWasNotRecorded)
{
    FakeTrace trace;
    trace.step(0, 0, 10 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 5 * kMicro, 50 * kMicro)
        .launchedAt(1 * kMicro)
        .kernel("vectorized_elementwise_kernel", 52 * kMicro, 60 * kMicro)
        .on(20)
        .launchedAt(2 * kMicro);
    device_ = trace.batch().deviceEvents;
    for (DeviceEvent& event : device_)
        event.launchThread = ThreadId{1};
    EXPECT_EQ(pathOf(trace, 0, 60 * kMicro).back().cause, Cause::Inferred);
}

TEST_F(RecordedPath, CrossesToTheThreadOfBackwardAndBack)
{
    FakeTrace trace;
    trace.step(0, 0, 100 * kMicro)
        .op("aten::mm", 0, 20 * kMicro)
        .op("AddmmBackward0", 30 * kMicro, 50 * kMicro)
        .op("MulBackward0", 55 * kMicro, 80 * kMicro)
        .op("aten::add_", 90 * kMicro, 100 * kMicro);
    TraceBatch batch = trace.batch();
    batch.ops[1].thread = batch.ops[2].thread = ThreadId{2};
    recorded_ = recordedGraph({.ranges = batch.ranges,
                               .ops = batch.ops,
                               .frames = {},
                               .calls = {},
                               .device = {},
                               .waits = {},
                               .collectives = {},
                               .parties = parties_,
                               .textOf = trace.textOf()});
    const auto last = recorded_.lastOf({}, ThreadId{1}, timestampAt(100 * kMicro));
    ASSERT_TRUE(last);
    const auto path = criticalPath(recorded_.graph, *last, {timestampAt(0), timestampAt(100 * kMicro)});
    std::vector<std::pair<std::uint32_t, std::int64_t>> threads; // with µs
    for (const PathSegment& segment : path)
        threads.emplace_back(segment.activity ? recorded_.sourceOf(*segment.activity).thread.value : 0,
                             segment.time.length().count() / kMicro);
    using Pair = std::pair<std::uint32_t, std::int64_t>;
    EXPECT_THAT(threads, ::testing::ElementsAre(Pair(1, 20), Pair(0, 10), Pair(2, 20), Pair(2, 5),
                                                Pair(2, 25), Pair(1, 10), Pair(1, 10)));
}

// The calls of a thread that were recorded, here one, need not reach to its launches.
TEST_F(RecordedPath, FollowsTheLaunchesOfAThreadWithoutOps)
{
    FakeTrace trace;
    trace.call("cuptiOverhead", ApiKind::Synchronize, 1 * kMicro, 2 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 25 * kMicro, 30 * kMicro)
        .launchedAt(20 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 65 * kMicro, 70 * kMicro)
        .launchedAt(60 * kMicro);
    device_ = trace.batch().deviceEvents;
    for (DeviceEvent& event : device_)
        event.launchThread = ThreadId{1};
    EXPECT_EQ(textOf(pathOf(trace, 1 * kMicro, 70 * kMicro)),
              "synchronization 1, host 18, host 40, launch 5, compute 5");
}

// A rank of a CPU's ranks: one thread computes, another one moves gradients.
TEST_F(RecordedPath, CrossesToTheThreadOfCollectivesAndBack)
{
    FakeTrace trace;
    trace.step(0, 0, 200 * kMicro)
        .op("aten::mm", 0, 40 * kMicro)
        .op("aten::mm", 40 * kMicro, 90 * kMicro)
        .op("aten::add_", 180 * kMicro, 200 * kMicro);
    const auto allReduce = [&trace](std::int64_t start, std::int64_t end) {
        Collective collective;
        collective.op = trace.strings().intern("all_reduce");
        collective.thread = ThreadId{2};
        collective.start = timestampAt(start);
        collective.end = timestampAt(end);
        return collective;
    };
    // The first one is hidden behind an op, the main thread waits for the second one.
    collectives_ = {allReduce(45 * kMicro, 80 * kMicro), allReduce(100 * kMicro, 170 * kMicro)};
    const auto path = pathOf(trace, 0, 200 * kMicro, false);
    EXPECT_EQ(textOf(path), "compute 40, compute 50, host 10, communication 70, host 10, memory 20");
    EXPECT_EQ(path[2].cause, Cause::HandOver);
    // An op submits it and goes on.
    collectives_ = {allReduce(60 * kMicro, 170 * kMicro)};
    EXPECT_EQ(textOf(pathOf(trace, 0, 200 * kMicro, false)),
              "compute 40, compute 20, communication 110, host 10, memory 20");
}

TEST_F(RecordedPath, OpsAreTheWorkOfACpu)
{
    FakeTrace trace;
    trace.step(0, 0, 100 * kMicro)
        .op("aten::mm", 10 * kMicro, 60 * kMicro)
        .op("aten::add", 60 * kMicro, 90 * kMicro);
    EXPECT_EQ(textOf(pathOf(trace, 0, 100 * kMicro, false)), "host 10, compute 50, memory 30, host 10");
}

TEST_F(RecordedPath, TimeInALoaderIsDataLoading)
{
    FakeTrace trace;
    trace.step(0, 0, 100 * kMicro)
        .op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10 * kMicro, 60 * kMicro)
        .op("aten::stack", 20 * kMicro, 50 * kMicro);
    EXPECT_EQ(partsOf(pathOf(trace, 0, 100 * kMicro))[PathPart::DataLoading], 50'000_ns);
}

} // namespace tilescope::analysis
