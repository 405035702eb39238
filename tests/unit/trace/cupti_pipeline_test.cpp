// What a trace of a device says when all goes well.

#include "core/trace/cupti/cupti_session.h"
#include "tests/unit/trace/cupti_pipeline.h"

#include <gmock/gmock.h>

#include <map>
#include <thread>

namespace tilescope::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(CuptiPipeline, AKernelBelongsToTheRangeStepAndThreadThatLaunchedIt)
{
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    ASSERT_EQ(tracer.untracedReason(), "");
    tracer.setStep(4);
    {
        const ScopedRange step("step", "step_4");
        const ScopedRange forward("forward");
        const ScopedRange module("layers.3");
        cupti.kernel(cupti.launch(), "_ZN2at6native4copyIfEEvPT_");
    }
    tracer.setStep(kNoStep);
    tracer.stop();

    ASSERT_THAT(events(), SizeIs(1));
    const DeviceEvent& kernel = events()[0];
    EXPECT_EQ(text(kernel.name), "void at::native::copy<float>(float*)");
    EXPECT_EQ(text(kernel.path), "step/forward/layers.3");
    EXPECT_EQ(kernel.step, 4);
    ASSERT_THAT(sink.all.ranges, SizeIs(3));
    EXPECT_EQ(kernel.range, sink.all.ranges[2].id);
    EXPECT_EQ(kernel.launchThread, sink.all.ranges[2].thread);
    EXPECT_GE(kernel.launched, sink.all.ranges[2].start);
    EXPECT_LE(kernel.launched, kernel.start);
    EXPECT_EQ((kernel.end - kernel.start).count(), 1000);
    EXPECT_EQ(kernel.launch.block[0], 128U);
    EXPECT_EQ(kernel.stream, StreamId{7});
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, EveryKernelOfManyStepsIsMatched)
{
    constexpr int kSteps = 50;
    constexpr int kKernels = 400;
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    for (int step = 0; step < kSteps; ++step) {
        tracer.setStep(step);
        const ScopedRange range("step", "step_" + std::to_string(step));
        std::vector<std::uint32_t> launches;
        for (int i = 0; i < kKernels; ++i)
            launches.push_back(cupti.call(i % 3 == 0 ? "cuLaunchKernelEx" : "cudaLaunchKernelExC"));
        for (const std::uint32_t correlation : launches)
            cupti.kernel(correlation);
    }
    tracer.stop();
    EXPECT_THAT(losses(), IsEmpty());
    ASSERT_THAT(events(), SizeIs(kSteps * kKernels));
    for (std::size_t i = 0; i < events().size(); ++i)
        ASSERT_EQ(events()[i].step, static_cast<std::int32_t>(i) / kKernels);
    EXPECT_GE(sink.all.recordsChecked, 2 * kSteps * kKernels);
}

TEST_F(CuptiPipeline, LaunchesOfAThreadWithoutRangesBelongToThePhaseTheSessionThreadSitsIn)
{
    record(options(), [&] {
        const ScopedRange backward("backward");
        std::thread autograd([&] { cupti.kernel(cupti.launch()); });
        autograd.join();
    });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_EQ(text(events()[0].path), "step/backward");
    EXPECT_EQ(events()[0].step, 0);
    EXPECT_NE(events()[0].launchThread, sink.all.ranges[0].thread);
    EXPECT_EQ(events()[0].range, sink.all.ranges[1].id);
    EXPECT_THAT(sink.all.threads, SizeIs(2));
}

TEST_F(CuptiPipeline, ARuntimeLaunchThroughTheDriverIsOneLaunch)
{
    record(options(TraceLevel::Full), [&] { cupti.kernel(cupti.launch()); });
    ASSERT_THAT(sink.all.apiCalls, SizeIs(1));
    const ApiCall& call = sink.all.apiCalls[0];
    EXPECT_EQ(text(call.name), "cuLaunchKernel"); // the call that every launch makes in the end
    EXPECT_EQ(call.kind, ApiKind::Launch);
    EXPECT_EQ(call.correlation, events().at(0).correlation);
    EXPECT_EQ(call.start, events()[0].launched);
    EXPECT_LE(call.start, call.end);
    EXPECT_EQ(call.step, 0);
}

TEST_F(CuptiPipeline, FullStoresCallsWithoutTheCountedCalls)
{
    record(options(TraceLevel::Full), [&] {
        for (int i = 0; i < 30; ++i)
            cupti.call("cudaGetDevice");
        cupti.call("cudaGetLastError");
        cupti.call("cudaMalloc");
        cupti.call("cudaEventRecord");
        cupti.copy(cupti.call("cudaMemcpyAsync"), 4096, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
        cupti.call("cudaDeviceSynchronize");
    });
    std::vector<std::pair<std::string, ApiKind>> calls;
    for (const ApiCall& call : sink.all.apiCalls)
        calls.emplace_back(text(call.name), call.kind);
    EXPECT_THAT(calls,
                ElementsAre(Pair("cudaMalloc", ApiKind::Memory), Pair("cudaEventRecord", ApiKind::Other),
                            Pair("cudaMemcpyAsync", ApiKind::Memory),
                            Pair("cudaDeviceSynchronize", ApiKind::Synchronize)));
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, KernelsStoresOfAllCallsOnlyThoseThatWait)
{
    record(options(), [&] {
        cupti.call("cudaGetDevice");
        cupti.call("cudaMalloc");
        cupti.kernel(cupti.launch());
        cupti.call("cudaDeviceSynchronize");
    });
    ASSERT_THAT(sink.all.apiCalls, SizeIs(1));
    EXPECT_EQ(text(sink.all.apiCalls[0].name), "cudaDeviceSynchronize");
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, CopiesAndMemsetsKeepTheirBytesAndDirection)
{
    record(options(), [&] {
        cupti.copy(cupti.call("cudaMemcpyAsync"), 1000, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
        cupti.set(cupti.call("cudaMemsetAsync"), 2000);
    });
    ASSERT_THAT(events(), SizeIs(2));
    EXPECT_EQ(events()[0].kind, DeviceEventKind::Memcpy);
    EXPECT_EQ(events()[0].copy, CopyKind::DeviceToHost);
    EXPECT_EQ(events()[0].bytes, 1000);
    EXPECT_EQ(text(events()[0].name), "Memcpy DtoH");
    EXPECT_EQ(events()[1].kind, DeviceEventKind::Memset);
    EXPECT_EQ(events()[1].bytes, 2000);
    EXPECT_EQ(text(events()[1].path), "step");
}

TEST_F(CuptiPipeline, AGraphLaunchOwnsAllItsKernels)
{
    record(options(), [&] {
        const std::uint32_t correlation = cupti.call("cudaGraphLaunch");
        for (std::uint64_t node = 1; node <= 3; ++node) {
            CUpti_ActivityKernel10 kernel = FakeCupti::kernelRecord(correlation, "gemm", cupti.soon());
            kernel.graphNodeId = node;
            cupti.record(kernel);
        }
    });
    ASSERT_THAT(events(), SizeIs(3));
    EXPECT_EQ(events()[2].graphNode, 3U);
    EXPECT_EQ(text(events()[2].path), "step");
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, NothingIsAskedForThatSlowsEveryCallOfTheRuntime)
{
    for (const TraceLevel level : {TraceLevel::Kernels, TraceLevel::Full}) {
        record(options(level), [&] {
            EXPECT_THAT(cupti.enabledActivities(),
                        UnorderedElementsAre(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                             CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD));
        });
    }
}

TEST_F(CuptiPipeline, OverheadIsACallOfItsStep)
{
    record(options(TraceLevel::Full), [&] {
        const FakeCupti::Times times = cupti.soon();
        CUpti_ActivityOverhead3 overhead{};
        overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
        overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
        overhead.start = times.start;
        overhead.end = times.end;
        overhead.overheadData = std::malloc(16); // the reader's to free
        cupti.record(overhead);
        cupti.call("cudaDeviceSynchronize");
    });
    std::map<std::string, ApiCall> calls;
    for (const ApiCall& call : sink.all.apiCalls)
        calls[text(call.name)] = call;
    ASSERT_THAT(calls, SizeIs(2));
    EXPECT_EQ(calls["CUPTI buffer flush"].kind, ApiKind::Overhead);
    EXPECT_EQ(calls["CUPTI buffer flush"].step, 0);
    EXPECT_EQ(calls["cudaDeviceSynchronize"].kind, ApiKind::Synchronize);
}

/// A graph that was traced holds memory of CUPTI: its replays would fail without it.
TEST_F(CuptiPipeline, LeavesARunningProgramUnlessItUsesGraphs)
{
    for (const char* function : {"cudaLaunchKernel", "cudaGraphLaunch"}) {
        FakeCupti own;
        CuptiSession session(own, 4, 4096);
        ASSERT_EQ(session.start(TraceLevel::Kernels), "");
        own.call(function);
        Losses losses;
        session.stop(losses);
        session.detachSoon();
        EXPECT_EQ(own.finalized(), 0);
        own.launch();
        const bool usesGraphs = function == std::string_view("cudaGraphLaunch");
        EXPECT_EQ(own.finalized(), usesGraphs ? 0 : 1) << function;
        EXPECT_FALSE(own.subscribed()) << function;
        own.launch();
        EXPECT_EQ(own.finalized(), usesGraphs ? 0 : 1) << function;
        EXPECT_EQ(session.start(TraceLevel::Kernels), "");
        EXPECT_TRUE(own.subscribed());
    }
}

/// Records of every version from 11.7 on, each buffer as short as that version's records are.
TEST_F(CuptiPipeline, ReadsTheRecordsOfOlderVersions)
{
    constexpr std::uint32_t k117 = 17;
    constexpr std::uint32_t k123 = 21;
    constexpr std::uint32_t k124 = 22;
    for (const std::uint32_t version : {k117, 18U, 20U, k123, k124, 24U, 26U, 28U, 130000U, 130500U}) {
        SCOPED_TRACE(version);
        cupti.versionNumber = version;
        sink = {};
        record(options(TraceLevel::Full), [&] {
            const std::uint32_t launch = cupti.launch();
            CUpti_ActivityKernel10 kernel = FakeCupti::kernelRecord(launch, "gemm", cupti.soon());
            kernel.clusterX = 2;
            kernel.clusterY = kernel.clusterZ = 1;
            kernel.graphNodeId = 5;
            cupti.record(kernel);
            cupti.completeBuffer();
            cupti.copy(cupti.call("cudaMemcpyAsync"), 1024, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
            cupti.completeBuffer();
            cupti.set(cupti.call("cudaMemsetAsync"), 64);
            cupti.completeBuffer();
            const FakeCupti::Times times = cupti.soon();
            CUpti_ActivityOverhead3 overhead{};
            overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
            overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
            overhead.start = times.start;
            overhead.end = times.end;
            overhead.correlationId = launch;
            overhead.overheadData = version < k124 ? nullptr : std::malloc(16); // the reader's to free
            cupti.record(overhead);
            cupti.completeBuffer();
        });
        ASSERT_THAT(events(), SizeIs(3));
        EXPECT_EQ(text(events()[0].name), "gemm");
        EXPECT_EQ(events()[0].graphNode, 5U);
        EXPECT_EQ(events()[0].launch.cluster[0], version == k117 ? 0U : 2U);
        EXPECT_EQ(events()[1].bytes, 1024);
        EXPECT_EQ(events()[2].bytes, 64);
        EXPECT_THAT(losses(), IsEmpty());
        const auto call = std::ranges::find(sink.all.apiCalls, ApiKind::Overhead, &ApiCall::kind);
        ASSERT_NE(call, sink.all.apiCalls.end());
        EXPECT_EQ(call->correlation.value != 0, version >= k123);
    }
}

} // namespace
} // namespace tilescope::trace
