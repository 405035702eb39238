// Problems in the trace of a device are counted and reported, never silent.

#include "core/trace/host/host_log.h"
#include "core/trace/host/thread_log.h"
#include "tests/unit/trace/cupti_pipeline.h"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>
#include <thread>

namespace tilescope::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(CuptiPipeline, FullBuffersDropRecordsAndCountThem)
{
    TracerOptions tiny = options();
    tiny.activityBuffers = 2;
    tiny.activityBufferBytes = 4096; // 18 kernels
    Tracer tracer(tiny, strings, sink, cupti);
    tracer.start();
    const std::uint32_t correlation = cupti.launch();
    constexpr int kKernels = 20'000;
    for (int i = 0; i < kKernels; ++i)
        cupti.record(FakeCupti::kernelRecord(correlation, "gemm", {~0ULL >> 2, (~0ULL >> 2) + 1}));
    tracer.stop();
    // How many were dropped is a race; that none vanished uncounted is not.
    EXPECT_GT(losses()["cupti_dropped"], 0);
    EXPECT_EQ(static_cast<std::int64_t>(events().size()) + losses()["cupti_dropped"], kKernels);
    EXPECT_EQ(sink.all.losses[0].severity, LossSeverity::Error);
}

TEST_F(CuptiPipeline, OlderCuptiAlwaysGetsABufferAndItsRecordsCountAsDropped)
{
    // 18: CUDA 11.8 to 12.1; 26: 12.8, the last one that does not take a null buffer; 27: 12.9.
    for (const std::uint32_t version : {18U, 26U, 27U}) {
        FakeCupti older;
        older.versionNumber = version;
        CollectedTrace trace;
        TracerOptions tiny = options();
        tiny.activityBuffers = 2;
        tiny.activityBufferBytes = 4096;
        Tracer tracer(tiny, strings, trace, older);
        tracer.start();
        const std::uint32_t correlation = older.launch();
        constexpr int kKernels = 20'000;
        for (int i = 0; i < kKernels; ++i)
            older.record(FakeCupti::kernelRecord(correlation, "gemm", {~0ULL >> 2, (~0ULL >> 2) + 1}));
        tracer.stop();
        std::int64_t dropped = 0;
        for (const Loss& loss : trace.all.losses)
            dropped += text(loss.kind) == "cupti_dropped" ? loss.count : 0;
        EXPECT_GT(dropped, 0) << version;
        EXPECT_EQ(static_cast<std::int64_t>(trace.all.deviceEvents.size()) + dropped, kKernels) << version;
        EXPECT_EQ(older.nullBuffers(), 0) << version;
    }
}

TEST_F(CuptiPipeline, OlderCuptiGetsABufferAfterTheTracerHasEnded)
{
    cupti.versionNumber = 26;
    {
        Tracer tracer(options(), strings, sink, cupti);
        tracer.start();
        tracer.stop();
    }
    // CUPTI keeps its callbacks. A program's other profiler may enable activities again.
    cupti.enableActivity(true, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cupti.kernel(1);
    cupti.flush(true);
    EXPECT_EQ(cupti.nullBuffers(), 0);
}

TEST_F(CuptiPipeline, AnAddressThatNamesAnotherKernelLaterIsReadAgain)
{
    std::string name = "first";
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    for (const char* loaded : {"first", "other", "third"}) {
        // A module was unloaded, and the next one has its name in the same place.
        name.replace(0, name.size(), loaded);
        tracer.setStep(0);
        cupti.kernel(cupti.launch(), name.c_str());
        cupti.kernel(cupti.launch(), name.c_str());
        cupti.completeBuffer();
        tracer.setStep(kNoStep); // everything is decoded
    }
    tracer.stop();
    std::map<std::string, int> counts;
    for (const DeviceEvent& event : events())
        ++counts[text(event.name)];
    EXPECT_THAT(counts, UnorderedElementsAre(Pair("first", 2), Pair("other", 2), Pair("third", 2)));
}

TEST_F(CuptiPipeline, AFullRingDropsLaunchesAndCountsThemAndTheirKernels)
{
    TracerOptions tiny = options();
    tiny.ringCapacity = 16;
    constexpr int kLaunches = 20'000;
    // A tracer with logs for every thread that earlier tests left room for, so that a small ring is made.
    record(tiny, [&] {
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < kLaunches; ++i)
                    cupti.kernel(cupti.launch());
            });
        }
        for (std::thread& thread : threads)
            thread.join();
    });
    ASSERT_THAT(events(), SizeIs(3 * kLaunches));
    std::int64_t unattributed = 0;
    for (const DeviceEvent& event : events())
        unattributed += !event.path;
    EXPECT_GT(losses()["ring_overflow"], 0);
    EXPECT_EQ(losses()["ring_overflow"], unattributed);
    EXPECT_EQ(losses()["unmatched_correlation"], unattributed);
}

TEST_F(CuptiPipeline, BuffersMayComeBackOutOfOrder)
{
    record(options(), [&] {
        cupti.kernel(cupti.launch(), "first");
        cupti.holdBuffer();
        cupti.kernel(cupti.launch(), "second");
        cupti.completeBuffer();
        cupti.completeHeld();
    });
    ASSERT_THAT(events(), SizeIs(2));
    std::map<std::string, std::string> paths;
    for (const DeviceEvent& event : events())
        paths[text(event.name)] = text(event.path);
    EXPECT_THAT(paths, UnorderedElementsAre(Pair("first", "step"), Pair("second", "step")));
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, ARecordCutOffByItsBufferIsCountedAndTheOthersKept)
{
    record(options(), [&] {
        const std::uint32_t correlation = cupti.launch();
        cupti.kernel(correlation);
        cupti.kernel(correlation);
        cupti.completeBuffer(sizeof(CUpti_ActivityKernel10) + 100);
    });
    EXPECT_THAT(events(), SizeIs(1));
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("truncated_record", 1)));
}

TEST_F(CuptiPipeline, AnUnknownKindIsCountedAndTheNextRecordRead)
{
    record(options(), [&] {
        CUpti_ActivityMarker2 marker{};
        marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
        cupti.record(marker);
        cupti.kernel(cupti.launch());
    });
    EXPECT_THAT(events(), SizeIs(1));
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("unknown_kind", 1)));
}

TEST_F(CuptiPipeline, AnUnreadableBufferIsAnError)
{
    record(options(), [&] {
        cupti.kernel(cupti.launch());
        CUpti_Activity nonsense{};
        nonsense.kind = CUPTI_ACTIVITY_KIND_COUNT;
        cupti.record(nonsense);
        cupti.kernel(cupti.launch());
    });
    EXPECT_THAT(events(), SizeIs(1));
    EXPECT_THAT(losses(), Contains(Pair("unreadable_buffer", 1)));
}

TEST_F(CuptiPipeline, ActivitiesWithoutTimeAreCountedNotStored)
{
    record(options(), [&] { cupti.kernel(cupti.launch(), "gemm", {0, 0}); });
    EXPECT_THAT(events(), IsEmpty());
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("no_timestamp", 1)));
}

TEST_F(CuptiPipeline, ANegativeDurationBecomesNone)
{
    record(options(), [&] {
        const std::uint32_t correlation = cupti.launch();
        const FakeCupti::Times times = cupti.soon();
        cupti.kernel(correlation, "gemm", {times.end, times.start});
    });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_EQ(events()[0].start, events()[0].end);
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("negative_duration", 1)));
}

TEST_F(CuptiPipeline, AKernelBeforeItsLaunchIsMovedToIt)
{
    record(options(), [&] {
        const FakeCupti::Times before = cupti.soon();
        std::this_thread::sleep_for(std::chrono::microseconds(10));
        cupti.kernel(cupti.launch(), "gemm", {before.start, before.start + 1});
    });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_EQ(events()[0].start, events()[0].launched);
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("clamped_time", 1)));
}

TEST_F(CuptiPipeline, AKernelWithoutItsLaunchIsKeptUnattributed)
{
    record(options(), [&] { cupti.kernel(987'654); });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_FALSE(events()[0].path);
    EXPECT_EQ(events()[0].step, kNoStep);
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("unmatched_correlation", 1)));
}

TEST_F(CuptiPipeline, ADeadDeviceIsReported)
{
    cupti.deviceFails = true;
    record(options(), [&] { cupti.launch(); });
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("device_not_synchronized", 1)));
}

TEST_F(CuptiPipeline, ARivalIsNamedAndTheRunGoesOnUntraced)
{
    cupti.subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    cupti.rivalName = "CUPTI for Nsight Systems";
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    EXPECT_THAT(tracer.untracedReason(), HasSubstr("CUPTI for Nsight Systems"));
    {
        const ScopedRange range("step");
    }
    tracer.stop();
    EXPECT_THAT(sink.all.ranges, SizeIs(1)) << "what needs no CUPTI is recorded all the same";
}

TEST_F(CuptiPipeline, ARefusedActivityLeavesNothingSwitchedOn)
{
    cupti.activityResult = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    EXPECT_THAT(tracer.untracedReason(), HasSubstr("NVreg_RestrictProfilingToAdminUsers"));
    EXPECT_FALSE(cupti.subscribed());
    EXPECT_EQ(cupti.enabledCallbacks(), 0U);
    tracer.stop();
}

TEST_F(CuptiPipeline, NothingThatCostsStaysOnAfterStop)
{
    Tracer tracer(options(TraceLevel::Full), strings, sink, cupti);
    tracer.start();
    EXPECT_GT(cupti.enabledCallbacks(), 0U);
    EXPECT_THAT(cupti.enabledActivities(), Contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    tracer.stop();
    EXPECT_EQ(cupti.enabledCallbacks(), 0U);
    EXPECT_THAT(cupti.enabledActivities(), IsEmpty());
    EXPECT_FALSE(cupti.subscribed());
    EXPECT_EQ(cupti.finalized(), 1) << "while CUPTI is in the process, launches stay slower";
}

TEST_F(CuptiPipeline, RecordsBesideFunctionsThatTheDriverLacks)
{
    cupti.missingFunction = "cuLaunchKernelEx";
    record(options(), [&] { cupti.kernel(cupti.launch()); });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_EQ(text(events()[0].path), "step");
}

TEST_F(CuptiPipeline, CuptiStaysWhileTracedGraphsMayBeReplayed)
{
    {
        Tracer tracer(options(), strings, sink, cupti);
        tracer.start();
        cupti.kernel(cupti.call("cudaGraphLaunch"));
        tracer.stop();
        EXPECT_FALSE(cupti.subscribed());
        EXPECT_EQ(cupti.finalized(), 0);
    }
    EXPECT_EQ(cupti.finalized(), 1);
}

TEST_F(CuptiPipeline, AnotherRecordingStartsClean)
{
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    cupti.kernel(cupti.launch());
    cupti.kernel(999);
    tracer.stop();
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("unmatched_correlation", 1)));
    cupti.launch(); // between recordings: not recorded
    tracer.start();
    cupti.kernel(cupti.launch());
    tracer.stop();
    EXPECT_THAT(events(), SizeIs(3));
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("unmatched_correlation", 1))) << "reported once";
}

TEST_F(CuptiPipeline, StampsActivitiesWithTheClockOfRanges)
{
    record(options(), [&] {
        const auto before = static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now()));
        const std::uint64_t stamp = cupti.clock()();
        EXPECT_GE(stamp, before);
        EXPECT_LE(stamp, static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now())));
    });
}

TEST_F(CuptiPipeline, DriftOfTheClocksIsTheChangeOfTheLeastLaunchLatency)
{
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    for (int step = 0; step < 3; ++step) {
        tracer.setStep(step);
        for (const std::uint64_t latency : {9000, 5000, 7000}) {
            const std::uint32_t correlation = cupti.launch();
            const auto now = static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now()));
            const std::uint64_t start =
                now + 1'000'000 + latency + static_cast<std::uint64_t>(step) * 100'000'000;
            cupti.kernel(correlation, "gemm", {start, start + 10});
        }
    }
    tracer.stop();
    // Launches vary; two steps 100 ms apart are distinguishable.
    const auto offsets = tracer.clockOffsets();
    ASSERT_TRUE(offsets.has_value());
    EXPECT_NEAR(static_cast<double>((offsets->end - offsets->start).count()), 200e6, 10e6);
}

TEST_F(CuptiPipeline, AnActivityThatEndsAfterTheHostWaitedForItShowsDrift)
{
    constexpr std::uint64_t kAhead = 3'000'000; // ns that the device's clock is ahead
    record(options(), [&] {
        for (const std::uint64_t ahead : {std::uint64_t{0}, kAhead}) {
            const std::uint32_t correlation = cupti.launch();
            const auto now = static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now()));
            cupti.call("cudaDeviceSynchronize");
            cupti.kernel(correlation, "gemm", {now + ahead, now + ahead + 1});
        }
        cupti.kernel(cupti.launch()); // the host did not wait for this one
    });
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("ended_after_wait", 1)));
}

TEST_F(CuptiPipeline, EventsAreHandedOnAfterTheStepsNotBesideThem)
{
    Tracer tracer(options(), strings, sink, cupti);
    tracer.start();
    for (int step = 0; step < 3; ++step) {
        tracer.setStep(step);
        for (int i = 0; i < 1000; ++i)
            cupti.kernel(cupti.launch());
        tracer.setStep(kNoStep);
        EXPECT_TRUE(sink.all.empty());
    }
    tracer.stop();
    EXPECT_THAT(events(), SizeIs(3000));
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, ALongStepIsReadBeforeItsRingsAreFull)
{
    TracerOptions small = options();
    small.ringCapacity = 1 << 12;
    constexpr int kKernels = 20'000;
    // A thread of its own: the ring of one that has noted before keeps its size.
    std::thread([&] {
        record(small, [&] {
            const auto& ring = HostLogs::mineIfAny()->ring;
            ASSERT_EQ(ring.capacity(), small.ringCapacity);
            for (int i = 0; i < kKernels; ++i) {
                cupti.kernel(cupti.launch());
                // Never ahead of the tracer's thread by more than half the ring, however late that thread
                // gets a core: the test hangs if the ring is not read before the step has ended.
                while (ring.size() > ring.capacity() / 2)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    }).join();
    EXPECT_THAT(events(), SizeIs(kKernels));
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(CuptiPipeline, StopReportsAFailingSink)
{
    struct Failing : TraceSink {
        void consume(TraceBatch&& /*batch*/) override { throw std::runtime_error("disk full"); }
    } failing;
    Tracer tracer(options(), strings, failing, cupti);
    tracer.start();
    for (int i = 0; i < 40'000; ++i)
        const ScopedRange range("busy");
    EXPECT_THROW(tracer.stop(), std::runtime_error);
}

TEST_F(CuptiPipeline, ManyThreadsLaunchAtOnce)
{
    constexpr int kThreads = 8;
    constexpr int kLaunches = 2000;
    record(options(), [&] {
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                const ScopedRange range("thread." + std::to_string(t));
                for (int i = 0; i < kLaunches; ++i)
                    cupti.kernel(cupti.launch());
            });
        }
        for (std::thread& thread : threads)
            thread.join();
    });
    EXPECT_THAT(losses(), IsEmpty());
    std::map<std::string, int> kernels;
    std::map<std::string, std::uint32_t> threads;
    for (const DeviceEvent& event : events()) {
        ++kernels[text(event.path)];
        const auto [known, isNew] = threads.emplace(text(event.path), event.launchThread.value);
        EXPECT_EQ(known->second, event.launchThread.value);
    }
    EXPECT_THAT(kernels, SizeIs(kThreads));
    for (const auto& [path, count] : kernels)
        EXPECT_EQ(count, kLaunches) << path;
}

} // namespace
} // namespace tilescope::trace
