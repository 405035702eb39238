#include "core/analysis/path/recorded_graph.h"

#include "core/analysis/path/critical_path.h"
#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace tilescope::analysis {

namespace {

using testing::FakeTrace;
using namespace literals;

constexpr std::int64_t kMicro = 1'000;

/// The critical path of a recording of one process whose main thread is 1.
class RecordedPath : public ::testing::Test {
protected:
    std::vector<PathSegment> pathOf(FakeTrace& trace, std::int64_t start, std::int64_t end, bool onGpu = true,
                                    ThreadId thread = ThreadId{1})
    {
        const TraceBatch& batch = trace.batch();
        recorded_ = recordedGraph({.ranges = batch.ranges,
                                   .ops = batch.ops,
                                   .frames = batch.frames,
                                   .calls = calls_.empty() ? batch.apiCalls : calls_,
                                   .device = device_.empty() ? batch.deviceEvents : device_,
                                   .waits = waits_,
                                   .collectives = collectives_,
                                   .topology = topology_,
                                   .textOf = trace.textOf(),
                                   .onGpu = onGpu});
        const Interval wall{timestampAt(start), timestampAt(end)};
        const auto last = recorded_.lastOf({}, thread, wall.end);
        if (!last)
            return {};
        std::vector<PathSegment> path = criticalPath(recorded_.graph, *last, wall);
        EXPECT_EQ(partsOf(path).sum(), wall.length());
        return path;
    }
    /// The kinds of the trace's device events, in order. Its launches and copy calls, in order, caused them.
    void setCalls(FakeTrace& trace, const std::vector<DeviceEventKind>& kinds)
    {
        device_ = trace.batch().deviceEvents;
        for (std::size_t i = 0; i < device_.size(); ++i) {
            device_[i].kind = kinds[i];
            device_[i].launchThread = ThreadId{1};
        }
        calls_ = trace.batch().apiCalls;
        std::size_t next = 0;
        for (ApiCall& call : calls_)
            if (next < device_.size() && call.start == device_[next].launched)
                call.correlation = device_[next++].correlation;
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

    TopologyIndex topology_;
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

TEST_F(RecordedPath, LetsAStreamWaitForWhatTheCallsOfAnotherThreadAskFor)
{
    FakeTrace trace;
    trace.step(0, 0, 10 * kMicro)
        .call("cudaEventRecord", ApiKind::Other, 2 * kMicro, 2 * kMicro + 500)
        .call("cudaStreamWaitEvent", ApiKind::Synchronize, 3 * kMicro, 3 * kMicro + 500)
        .kernel("ncclDevKernel_AllReduce", 5 * kMicro, 50 * kMicro)
        .on(17)
        .launchedAt(1 * kMicro)
        .kernel("multi_tensor_apply_kernel", 52 * kMicro, 60 * kMicro)
        .launchedAt(4 * kMicro)
        .kernel("multi_tensor_apply_kernel", 90 * kMicro, 95 * kMicro)
        .launchedAt(85 * kMicro);
    calls_ = trace.batch().apiCalls;
    for (ApiCall& call : calls_)
        call.thread = ThreadId{2};
    device_ = trace.batch().deviceEvents;
    device_[0].launchThread = device_[2].launchThread = ThreadId{2};
    device_[1].launchThread = ThreadId{1}; // the optimizer, before the waiting thread launches again
    const std::vector<PathSegment> path = pathOf(trace, 0, 60 * kMicro);
    EXPECT_EQ(path.back().cause, Cause::StreamWait);
    EXPECT_EQ(path.back().time.length(), 8'000_ns);
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

TEST_F(RecordedPath, ACopyThatReturnsWithItsEndFollowsTheKernelBefore)
{
    FakeTrace trace;
    trace.step(0, 0, 120 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 10 * kMicro, 15 * kMicro)
        .call("cudaMemcpyAsync", ApiKind::Memory, 20 * kMicro, 115 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 18 * kMicro, 108 * kMicro)
        .launchedAt(10 * kMicro)
        .kernel("Memcpy DtoH (Device -> Pageable)", 109 * kMicro, 111 * kMicro)
        .launchedAt(20 * kMicro);
    setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Memcpy});
    EXPECT_EQ(textOf(pathOf(trace, 0, 120 * kMicro)), "host 10, launch 5, launch 3, compute 90, launch 1, "
                                                      "memory 2, synchronization 4, host 5");
}

TEST_F(RecordedPath, ACopyFromPinnedMemoryIsOnlyLaunchedByItsCall)
{
    // While the call runs, the work before the copy happens to end.
    for (const std::string_view name : {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"}) {
        const std::int64_t returned = name.ends_with(")") ? 32 : 25; // a short call stages nothing either
        FakeTrace trace;
        trace.step(0, 0, 60 * kMicro)
            .call("cudaLaunchKernel", ApiKind::Launch, 10 * kMicro, 15 * kMicro)
            .call("cudaMemcpyAsync", ApiKind::Memory, 20 * kMicro, returned * kMicro)
            .kernel("sm90_xmma_gemm_bf16", 17 * kMicro, 24 * kMicro)
            .launchedAt(10 * kMicro)
            .kernel(name, 34 * kMicro, 60 * kMicro)
            .launchedAt(20 * kMicro);
        setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Memcpy});
        EXPECT_EQ(textOf(pathOf(trace, 0, 60 * kMicro)).find("compute"), std::string::npos) << name;
    }
}

TEST_F(RecordedPath, ACopyToTheHostWaitsOnTheDeviceForAnotherStream)
{
    // The kernel before the copy on its stream has ended, and another stream, for which the copy waits, works on.
    FakeTrace trace;
    trace.step(0, 0, 145 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 2 * kMicro, 6 * kMicro)
        .call("cudaEventRecord", ApiKind::Other, 7 * kMicro, 8 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 10 * kMicro, 15 * kMicro)
        .call("cudaStreamWaitEvent", ApiKind::Synchronize, 16 * kMicro, 17 * kMicro)
        .call("cudaMemcpyAsync", ApiKind::Memory, 20 * kMicro, 145 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 9 * kMicro, 138 * kMicro)
        .on(20)
        .launchedAt(2 * kMicro)
        .kernel("softmax_warp_forward", 18 * kMicro, 108 * kMicro)
        .launchedAt(10 * kMicro)
        .kernel("Memcpy DtoH (Device -> Pageable)", 139 * kMicro, 141 * kMicro)
        .launchedAt(20 * kMicro);
    setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Kernel, DeviceEventKind::Memcpy});
    device_[2].copy = CopyKind::DeviceToHost;
    EXPECT_EQ(textOf(pathOf(trace, 0, 145 * kMicro)),
              "host 2, launch 4, launch 3, compute 129, launch 1, memory 2, synchronization 4");
}

TEST_F(RecordedPath, ACopyFromPageableMemoryWaitsForItsStream)
{
    FakeTrace trace;
    trace.step(0, 0, 140 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 10 * kMicro, 15 * kMicro)
        .call("cudaMemcpyAsync", ApiKind::Memory, 20 * kMicro, 140 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 18 * kMicro, 108 * kMicro)
        .launchedAt(10 * kMicro)
        .kernel("Memcpy HtoD (Pageable -> Device)", 143 * kMicro, 160 * kMicro)
        .launchedAt(20 * kMicro);
    setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Memcpy});
    EXPECT_EQ(textOf(pathOf(trace, 0, 160 * kMicro)),
              "host 10, launch 5, launch 3, compute 90, launch 32, launch 3, memory 17");
}

TEST_F(RecordedPath, FreeingMemoryWaitsForTheDevice)
{
    FakeTrace trace;
    trace.step(0, 0, 160 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 10 * kMicro, 15 * kMicro)
        .call("cudaFree", ApiKind::Memory, 20 * kMicro, 150 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 18 * kMicro, 108 * kMicro)
        .launchedAt(10 * kMicro);
    setCalls(trace, {DeviceEventKind::Kernel});
    EXPECT_EQ(textOf(pathOf(trace, 0, 160 * kMicro)),
              "host 10, launch 5, launch 3, compute 90, host 42, host 10");
}

TEST_F(RecordedPath, ALaunchWaitsWhileTheQueueOfItsStreamIsFull)
{
    // Calls take 2 µs, kernels 50 µs. From the fourth on, a call returns when the third kernel before has ended. One such call is
    // enough, as the stream never held more.
    for (const int kernels : {10, 4}) {
        FakeTrace trace;
        std::vector<std::int64_t> ends;
        std::vector<Interval> calls;
        std::int64_t host = 2;
        for (int i = 0; i < kernels; ++i) {
            const std::int64_t returned =
                std::max(host + 2, i < 3 ? 0 : ends[static_cast<std::size_t>(i - 3)] + 1);
            calls.push_back({timestampAt(host * kMicro), timestampAt(returned * kMicro)});
            ends.push_back(std::max(ends.empty() ? 0 : ends.back() + 1, returned + 2) + 50);
            host = returned + 1;
        }
        trace.step(0, 0, (host + 4) * kMicro);
        for (std::size_t i = 0; i < calls.size(); ++i)
            trace
                .call("cudaLaunchKernel", ApiKind::Launch, nanosecondsOf(calls[i].start),
                      nanosecondsOf(calls[i].end))
                .kernel("sm90_xmma_gemm_bf16", (ends[i] - 50) * kMicro, ends[i] * kMicro)
                .launchedAt(nanosecondsOf(calls[i].start));
        setCalls(trace, std::vector(calls.size(), DeviceEventKind::Kernel));
        // The host ends the step: it waited for the seventh kernel, or for the first of four.
        const PathParts parts = partsOf(pathOf(trace, 0, (host + 4) * kMicro));
        EXPECT_EQ(parts[PathPart::Compute], Nanoseconds((kernels - 3) * 50 * kMicro)) << kernels;
        EXPECT_EQ(parts[PathPart::Unexplained], Nanoseconds(0));
        // However long it waits, a call takes as long as one that does not wait, before and after the wait.
        Nanoseconds launching{0};
        for (std::uint32_t i = 0; i < recorded_.graph.activities().size(); ++i)
            if (recorded_.sourceOf(i).kind == PathSource::Kind::Call)
                launching += recorded_.graph.activities()[i].time.length();
        EXPECT_EQ(launching, Nanoseconds(kernels * 2 * kMicro));
    }
}

TEST_F(RecordedPath, ACopyWaitsForAPlaceInTheQueueAsALaunchDoes)
{
    // Eight kernels and a copy; a stream holds three commands. The copy's call returns when the sixth kernel has ended.
    FakeTrace trace;
    std::int64_t host = 2;
    std::vector<std::int64_t> ends;
    for (int i = 0; i < 9; ++i) {
        const std::int64_t called = host;
        host = std::max(host + 2, i < 3 ? 0 : ends[static_cast<std::size_t>(i - 3)] + 1);
        ends.push_back(std::max(ends.empty() ? 0 : ends.back() + 1, host + 2) + 50);
        const bool isCopy = i == 8;
        trace
            .call(isCopy ? "cudaMemcpyAsync" : "cudaLaunchKernel", isCopy ? ApiKind::Memory : ApiKind::Launch,
                  called * kMicro, host * kMicro)
            .kernel(isCopy ? "Memcpy HtoD (Pinned -> Device)" : "sm90_xmma_gemm_bf16",
                    (ends.back() - 50) * kMicro, ends.back() * kMicro)
            .launchedAt(called * kMicro);
        ++host;
    }
    trace.step(0, 0, (host + 4) * kMicro);
    std::vector<DeviceEventKind> kinds(9, DeviceEventKind::Kernel);
    kinds.back() = DeviceEventKind::Memcpy;
    setCalls(trace, kinds);
    EXPECT_EQ(partsOf(pathOf(trace, 0, (host + 4) * kMicro))[PathPart::Compute],
              Nanoseconds(6 * 50 * kMicro));
}

TEST_F(RecordedPath, OneLongLaunchAndAShorterOneShowTheDepthOfAQueue)
{
    // Three commands fit. The fourth call waits for the first kernel for 30 µs, the fifth for the second for 12 µs.
    FakeTrace trace;
    constexpr std::array<std::pair<int, int>, 5> kCalls{{{2, 4}, {5, 7}, {8, 10}, {11, 41}, {42, 54}}};
    constexpr std::array<std::pair<int, int>, 5> kKernels{{{8, 40}, {41, 53}, {54, 74}, {75, 95}, {96, 116}}};
    for (std::size_t i = 0; i < kCalls.size(); ++i)
        trace.call("cudaLaunchKernel", ApiKind::Launch, kCalls[i].first * kMicro, kCalls[i].second * kMicro)
            .kernel("sm90_xmma_gemm_bf16", kKernels[i].first * kMicro, kKernels[i].second * kMicro)
            .launchedAt(kCalls[i].first * kMicro);
    trace.step(0, 0, 60 * kMicro);
    setCalls(trace, std::vector(kCalls.size(), DeviceEventKind::Kernel));
    EXPECT_EQ(textOf(pathOf(trace, 0, 60 * kMicro)),
              "host 2, launch 2, launch 4, compute 32, launch 1, compute 12, launch 1, host 6");
}

TEST_F(RecordedPath, LaunchesThatWaitShortlyShowTheDepthOfAQueueTogether)
{
    // Six commands fit. A call takes 1 µs and a kernel 6 µs, so that each call from the seventh on waits for about 5 µs.
    constexpr std::size_t kDepth = 6;
    FakeTrace trace;
    std::vector<std::int64_t> ends;
    std::int64_t host = 2;
    for (std::size_t i = 0; i < 20; ++i) {
        const std::int64_t called = host;
        host = std::max(host + 1, i < kDepth ? 0 : ends[i - kDepth] + 1);
        ends.push_back(std::max(ends.empty() ? 0 : ends.back() + 1, host + 2) + 6);
        trace.call("cudaLaunchKernel", ApiKind::Launch, called * kMicro, host * kMicro)
            .kernel("sm90_xmma_gemm_bf16", (ends.back() - 6) * kMicro, ends.back() * kMicro)
            .launchedAt(called * kMicro);
    }
    trace.step(0, 0, (host + 4) * kMicro);
    setCalls(trace, std::vector(ends.size(), DeviceEventKind::Kernel));
    // The last call waited for the fourteenth kernel.
    EXPECT_EQ(partsOf(pathOf(trace, 0, (host + 4) * kMicro))[PathPart::Compute],
              Nanoseconds(14 * 6 * kMicro));
}

TEST_F(RecordedPath, LaunchesThatEndWithAKernelByChanceAreNoFullQueue)
{
    // As below, but the first call takes less time than the others, which end 1 µs after the kernel of the call before the last.
    constexpr int kKernels = 20;
    FakeTrace trace;
    trace.step(0, 0, 6 * kKernels * kMicro);
    for (int i = 0; i < kKernels; ++i) {
        const std::int64_t end = 6 * i + (i == 0 ? 1 : 2);
        trace.call("cudaLaunchKernel", ApiKind::Launch, 6 * i * kMicro, end * kMicro)
            .kernel("sm90_xmma_gemm_bf16", (6 * i + 11) * kMicro, (6 * i + 13) * kMicro)
            .launchedAt(6 * i * kMicro);
    }
    setCalls(trace, std::vector(kKernels, DeviceEventKind::Kernel));
    EXPECT_EQ(partsOf(pathOf(trace, 0, 6 * kKernels * kMicro))[PathPart::Compute], Nanoseconds(0));
}

TEST_F(RecordedPath, ALoopOfShortLaunchesIsNoFullQueue)
{
    // The host launches every 6 µs. A kernel of 2 µs begins 11 µs after its launch, so that it ends during the call after the next: the
    // stream always holds two commands, and each call returns just after an earlier kernel has ended.
    constexpr int kKernels = 20;
    FakeTrace trace;
    trace.step(0, 0, 6 * kKernels * kMicro);
    for (int i = 0; i < kKernels; ++i)
        trace.call("cudaLaunchKernel", ApiKind::Launch, 6 * i * kMicro, (6 * i + 2) * kMicro)
            .kernel("sm90_xmma_gemm_bf16", (6 * i + 11) * kMicro, (6 * i + 13) * kMicro)
            .launchedAt(6 * i * kMicro);
    setCalls(trace, std::vector(kKernels, DeviceEventKind::Kernel));
    EXPECT_EQ(partsOf(pathOf(trace, 0, 6 * kKernels * kMicro))[PathPart::Compute], Nanoseconds(0));
}

TEST_F(RecordedPath, ALongLaunchDoesNotWaitWhereTheStreamHasHeldMore)
{
    // The third call takes as long as the first kernel; by then, the stream holds two commands, and later three.
    FakeTrace trace;
    trace.step(0, 0, 80 * kMicro);
    constexpr std::array<std::pair<int, int>, 4> kCalls{{{2, 4}, {5, 7}, {8, 57}, {58, 60}}};
    for (std::size_t i = 0; i < kCalls.size(); ++i)
        trace.call("cudaLaunchKernel", ApiKind::Launch, kCalls[i].first * kMicro, kCalls[i].second * kMicro)
            .kernel("sm90_xmma_gemm_bf16", (6 + static_cast<int>(i) * 51) * kMicro,
                    (56 + static_cast<int>(i) * 51) * kMicro)
            .launchedAt(kCalls[i].first * kMicro);
    setCalls(trace, std::vector(kCalls.size(), DeviceEventKind::Kernel));
    EXPECT_EQ(partsOf(pathOf(trace, 0, 80 * kMicro))[PathPart::Compute], Nanoseconds(0));
}

TEST_F(RecordedPath, ReadsTheLaunchLagFromLaunchesOntoAnIdleDevice)
{
    // Kernels of the second stream wait for the first one by events that were not recorded. So they begin long
    // after their launches, which is no reason to think that launches are slow.
    FakeTrace trace;
    trace.step(0, 0, 10 * kMicro);
    std::int64_t device = 9;
    for (int i = 0; i < 12; ++i) {
        trace.kernel("sm90_xmma_gemm_bf16", device * kMicro, (device + 50) * kMicro)
            .launchedAt((2 * i + 1) * kMicro);
        if (i % 3 == 2)
            trace.on(20);
        device += 51;
    }
    setCalls(trace, std::vector(12, DeviceEventKind::Kernel));
    const PathParts parts = partsOf(pathOf(trace, 0, (device - 1) * kMicro));
    EXPECT_EQ(parts[PathPart::Compute], Nanoseconds(12 * 50 * kMicro));
    EXPECT_EQ(recorded_.graph.usualLag(Cause::Launch), Nanoseconds(8 * kMicro));
}

TEST_F(RecordedPath, AHostThatIsALittleSlowerThanTheDeviceDecides)
{
    // A kernel takes 100 µs and its launch comes 103 µs after the one before. It begins 7 to 9 µs after its
    // launch, and thus 1 to 5 µs after the kernel before.
    FakeTrace trace;
    trace.step(0, 0, 10 * kMicro);
    std::int64_t launched = 0;
    for (int i = 0; i < 30; ++i) {
        launched = i * 103;
        const std::int64_t start = launched + 7 + i % 3;
        trace.kernel("sm90_xmma_gemm_bf16", start * kMicro, (start + 100) * kMicro)
            .launchedAt(launched * kMicro);
    }
    setCalls(trace, std::vector(30, DeviceEventKind::Kernel));
    const PathParts parts = partsOf(pathOf(trace, 0, (launched + 9 + 100) * kMicro));
    EXPECT_EQ(parts[PathPart::Host], Nanoseconds(29 * 103 * kMicro));
    EXPECT_EQ(parts[PathPart::Compute], Nanoseconds(100 * kMicro));
}

TEST_F(RecordedPath, ATimeOfTheDeviceEndsWithTheKernelThatBeginsThen)
{
    // The device waits for the host between two kernels.
    FakeTrace trace;
    trace.step(0, 0, 60 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 0, 5 * kMicro)
        .call("cudaLaunchKernel", ApiKind::Launch, 50 * kMicro, 55 * kMicro)
        .kernel("sm90_xmma_gemm_bf16", 8 * kMicro, 18 * kMicro)
        .launchedAt(0)
        .kernel("sm90_xmma_gemm_bf16", 58 * kMicro, 68 * kMicro)
        .launchedAt(50 * kMicro);
    setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Kernel});
    EXPECT_EQ(textOf(pathOf(trace, 8 * kMicro, 58 * kMicro, true, {})), "host 42, launch 5, launch 3");
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
                               .topology = topology_,
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

TEST_F(RecordedPath, AThreadMayWaitForOneThatWasSilentForLong)
{
    // The thread of backward waits from 40 on. Most of this time, the tracer works on the other thread, which shows nothing.
    FakeTrace trace;
    trace.step(0, 0, 300 * kMicro)
        .op("AddmmBackward0", 10 * kMicro, 40 * kMicro)
        .op("aten::mm", 170 * kMicro, 230 * kMicro)
        .op("MulBackward0", 240 * kMicro, 290 * kMicro);
    TraceBatch batch = trace.batch();
    batch.ops[0].thread = batch.ops[2].thread = ThreadId{2};
    recorded_ = recordedGraph({.ranges = batch.ranges,
                               .ops = batch.ops,
                               .frames = {},
                               .calls = calls_,
                               .device = device_,
                               .waits = {},
                               .collectives = {},
                               .topology = topology_,
                               .textOf = trace.textOf()});
    const auto waiting = recorded_.lastOf({}, ThreadId{2}, timestampAt(240 * kMicro));
    ASSERT_TRUE(waiting);
    const ActivityGraph::Constraint* const binding = recorded_.graph.bindingOf(*waiting);
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->cause, Cause::HandOver);
    EXPECT_EQ(recorded_.graph.activities()[binding->from].time.end, timestampAt(230 * kMicro));
}

TEST_F(RecordedPath, ThreadsThatTakeTurnsMayBothBeSilentForLong)
{
    // Thread 2 begins backward as soon as thread 1 is silent; then the tracer writes its buffers on it for 1,000 µs.
    FakeTrace trace;
    trace.step(0, 0, 1'800 * kMicro)
        .op("aten::mm", 10 * kMicro, 100 * kMicro)
        .op("AddmmBackward0", 115 * kMicro, 165 * kMicro)
        .op("aten::add_", 1'200 * kMicro, 1'400 * kMicro)
        .op("MulBackward0", 1'410 * kMicro, 1'450 * kMicro);
    TraceBatch batch = trace.batch();
    batch.ops[1].thread = batch.ops[3].thread = ThreadId{2};
    recorded_ = recordedGraph({.ranges = batch.ranges,
                               .ops = batch.ops,
                               .frames = {},
                               .calls = calls_,
                               .device = device_,
                               .waits = {},
                               .collectives = {},
                               .topology = topology_,
                               .textOf = trace.textOf()});
    const auto causeUntil = [this](ThreadId thread, std::int64_t micros) {
        const auto waiting = recorded_.lastOf({}, thread, timestampAt(micros * kMicro));
        const ActivityGraph::Constraint* const binding =
            waiting ? recorded_.graph.bindingOf(*waiting) : nullptr;
        return binding ? std::pair(binding->cause, recorded_.graph.activities()[binding->from].time.end)
                       : std::pair(Cause::Program, Timestamp{});
    };
    // Thread 1 goes on after what thread 2 did, and thread 2 after thread 1, although each was silent for most of the time.
    EXPECT_EQ(causeUntil(ThreadId{1}, 1'200), std::pair(Cause::HandOver, timestampAt(165 * kMicro)));
    EXPECT_EQ(causeUntil(ThreadId{2}, 1'410), std::pair(Cause::HandOver, timestampAt(1'400 * kMicro)));
}

TEST_F(RecordedPath, ThreadsDoNotTakeTurnsWhereOneWorksInTheMiddleOfASilence)
{
    FakeTrace trace;
    trace.step(0, 0, 1'800 * kMicro)
        .op("aten::mm", 10 * kMicro, 100 * kMicro)
        .op("pin_memory", 600 * kMicro, 650 * kMicro)
        .op("aten::add_", 1'200 * kMicro, 1'400 * kMicro);
    TraceBatch batch = trace.batch();
    batch.ops[1].thread = ThreadId{2};
    recorded_ = recordedGraph({.ranges = batch.ranges,
                               .ops = batch.ops,
                               .frames = {},
                               .calls = calls_,
                               .device = device_,
                               .waits = {},
                               .collectives = {},
                               .topology = topology_,
                               .textOf = trace.textOf()});
    const auto silent = recorded_.lastOf({}, ThreadId{1}, timestampAt(1'200 * kMicro));
    ASSERT_TRUE(silent);
    const ActivityGraph::Constraint* const binding = recorded_.graph.bindingOf(*silent);
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->cause, Cause::Program);
}

// A rank of a CPU's ranks: one thread computes, another one moves gradients.
TEST_F(RecordedPath, AThreadThatOnlyLaunchedOnceHasAPlace)
{
    FakeTrace trace;
    trace.kernel("gemm", 10 * kMicro, 60 * kMicro).launchedAt(5 * kMicro);
    trace.kernel("gemm", 60 * kMicro, 90 * kMicro).launchedAt(5 * kMicro); // of one graph
    setCalls(trace, {DeviceEventKind::Kernel, DeviceEventKind::Kernel});
    const std::vector<PathSegment> path = pathOf(trace, 0, 90 * kMicro, true, ThreadId{});
    EXPECT_EQ(partsOf(path)[PathPart::Compute], Nanoseconds(80 * kMicro));
}

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
