// What is learnt before the steps that are recorded: nodes of graphs, and one step that counts for nothing
// else.

#include "core/trace/host/host_log.h"
#include "core/trace/host/thread_log.h"
#include "tests/unit/trace/cupti_pipeline.h"

#include <gmock/gmock.h>

#include <thread>

namespace tilescope::trace {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kCaptured = 1ULL << 32;
constexpr std::uint64_t kExecutable = 2ULL << 32;

class ReferenceStepTest : public CuptiPipeline {
protected:
    /// Captures a graph of two kernels in two modules, the second on autograd's thread, and instantiates it.
    void capture(Tracer& tracer)
    {
        tracer.start(Recording::Capture);
        EXPECT_EQ(tracer.untracedReason(), "");
        {
            const ScopedRange step("step");
            const ScopedRange forward("forward");
            {
                const ScopedRange module("layers.0");
                cupti.makeGraphNode(kCaptured);
            }
            std::thread other([&] {
                const ScopedRange module("layers.1");
                cupti.makeGraphNode(kCaptured + 1);
            });
            other.join();
            cupti.cloneGraphNode(kExecutable, kCaptured);
            cupti.cloneGraphNode(kExecutable + 1, kCaptured + 1);
        }
        tracer.stop();
    }
    void replay(std::initializer_list<std::uint64_t> nodes)
    {
        const std::uint32_t correlation = cupti.call("cudaGraphLaunch");
        for (const std::uint64_t node : nodes) {
            CUpti_ActivityKernel10 kernel = FakeCupti::kernelRecord(correlation, "gemm", cupti.soon());
            kernel.graphNodeId = node;
            cupti.record(kernel);
        }
    }
    /// Records one step whose forward runs `body`.
    template <class Body> void step(Tracer& tracer, Recording recording, int number, Body&& body)
    {
        tracer.start(recording);
        tracer.setStep(number);
        {
            const ScopedRange range("step");
            const ScopedRange forward("forward");
            body();
        }
        tracer.setStep(kNoStep);
        tracer.stop();
    }
};

TEST_F(ReferenceStepTest, KernelsOfAGraphBelongToTheModulesTheyWereCapturedIn)
{
    Tracer tracer(options(), strings, sink, cupti);
    capture(tracer);
    EXPECT_TRUE(sink.all.empty()) << "a capture is not part of the recording";
    EXPECT_FALSE(cupti.subscribed());
    step(tracer, Recording::Events, 3, [&] { replay({kExecutable, kExecutable + 1}); });

    ASSERT_THAT(events(), SizeIs(2));
    EXPECT_EQ(text(events()[0].path), "step/forward/layers.0");
    EXPECT_EQ(text(events()[1].path), "step/forward/layers.1");
    for (const DeviceEvent& event : events()) {
        EXPECT_EQ(event.step, 3) << "step and launch are the replay's";
        EXPECT_NE(event.launched, Timestamp{});
    }
    EXPECT_EQ(events()[1].graphNode, kExecutable + 1) << "node numbers are wider than 32 bits";
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(ReferenceStepTest, KernelsOfAGraphBelongToTheOpsThatWereCaptured)
{
    TracerOptions how = options();
    how.shapes = true;
    Tracer tracer(how, strings, sink, cupti);
    tracer.start(Recording::Capture);
    {
        const ScopedRange range("step");
        ThreadLog& log = *HostLogs::mine();
        log.openOp("aten::silu", -1, OpScope::Function, kNone); // makes no node
        log.closeOp();
        log.openOp("aten::matmul", 5, OpScope::Function, kNone);
        log.openOp("aten::mm", 5, OpScope::Function, ThreadLog::numberOf("f32[2, 3] f32[3, 4]"));
        cupti.makeGraphNode(kCaptured);
        log.closeOp();
        log.closeOp();
        cupti.makeGraphNode(kCaptured + 1); // by no op
        cupti.cloneGraphNode(kExecutable, kCaptured);
        cupti.cloneGraphNode(kExecutable + 1, kCaptured + 1);
    }
    tracer.stop();
    for (const int number : {0, 1})
        step(tracer, Recording::Events, number, [&] { replay({kExecutable, kExecutable + 1}); });

    ASSERT_THAT(sink.all.ops, SizeIs(2)) << "those that made nodes and the ones around them, once";
    const Op& outer = sink.all.ops[0];
    const Op& inner = sink.all.ops[1];
    EXPECT_EQ(text(outer.name), "aten::matmul");
    EXPECT_EQ(text(inner.name), "aten::mm");
    EXPECT_EQ(text(inner.shapes), "f32[2, 3] f32[3, 4]");
    EXPECT_EQ(text(inner.path), "step");
    EXPECT_EQ(inner.parent, outer.id);
    EXPECT_EQ(inner.sequence, 5);
    EXPECT_EQ(inner.step, kNoStep);
    EXPECT_EQ(inner.start, inner.end) << "the capture is not part of the recording";
    EXPECT_LE(inner.end, sink.all.ranges.front().start);
    ASSERT_THAT(events(), SizeIs(4));
    for (const std::size_t replayed : {0, 2}) {
        EXPECT_EQ(events()[replayed].op, inner.id);
        EXPECT_FALSE(events()[replayed + 1].op);
    }
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(ReferenceStepTest, KernelsOfAGraphHaveNoOpWhereOpsAreNotRecorded)
{
    TracerOptions how = options();
    how.memory = true; // needs the names of the captured ops, but no rows of them
    Tracer tracer(how, strings, sink, cupti);
    tracer.start(Recording::Capture);
    {
        const ScopedRange range("step");
        ThreadLog& log = *HostLogs::mine();
        log.openOp("aten::mm", 5, OpScope::Function, kNone);
        cupti.makeGraphNode(kExecutable);
        log.closeOp();
    }
    tracer.stop();
    step(tracer, Recording::Events, 0, [&] { replay({kExecutable}); });
    EXPECT_THAT(sink.all.ops, IsEmpty());
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_FALSE(events()[0].op);
}

TEST_F(ReferenceStepTest, ANodeThatTheCaptureDidNotShowBelongsToItsReplayAndIsCounted)
{
    Tracer tracer(options(), strings, sink, cupti);
    capture(tracer);
    step(tracer, Recording::Events, 0, [&] { replay({kExecutable + 9}); });
    ASSERT_THAT(events(), SizeIs(1));
    EXPECT_EQ(text(events()[0].path), "step/forward");
    EXPECT_THAT(losses(), UnorderedElementsAre(Pair("unmatched_graph_node", 1)));
}

TEST_F(ReferenceStepTest, AReferenceStepLeavesNothingBehindAndCuptiInPlace)
{
    Tracer tracer(options(), strings, sink, cupti);
    step(tracer, Recording::ReferenceStep, 0, [&] { cupti.kernel(cupti.launch()); });
    EXPECT_TRUE(sink.all.empty());
    EXPECT_EQ(cupti.finalized(), 0) << "its beginnings would come again";
    step(tracer, Recording::Events, 0, [&] { cupti.kernel(cupti.launch()); });
    EXPECT_THAT(events(), SizeIs(1));
    EXPECT_THAT(sink.all.threads, SizeIs(1)) << "threads known from the reference step are still reported";
    EXPECT_EQ(cupti.finalized(), 1);
    EXPECT_THAT(losses(), IsEmpty());
}

TEST_F(ReferenceStepTest, CallsThatAreNotStoredAreCountedInTheReferenceStepOnly)
{
    Tracer tracer(options(TraceLevel::Full), strings, sink, cupti);
    const auto body = [&] {
        for (int i = 0; i < 31; ++i)
            cupti.call("cudaGetDevice");
        cupti.kernel(cupti.launch());
    };
    step(tracer, Recording::ReferenceStep, 0, body);
    step(tracer, Recording::Events, 0, body);
    ASSERT_THAT(losses(), UnorderedElementsAre(Pair("api_calls_not_stored", 31)));
    EXPECT_EQ(sink.all.losses[0].severity, LossSeverity::Info);
    EXPECT_THAT(sink.all.apiCalls, SizeIs(1));
}

TEST_F(ReferenceStepTest, WhatFoundNoRoomAfterARecordingIsNotLostByTheNext)
{
    Tracer tracer(options(), strings, sink, cupti);
    step(tracer, Recording::Events, 0, [&] { cupti.kernel(cupti.launch()); });
    cupti.dropOne();
    step(tracer, Recording::Events, 1, [&] { cupti.kernel(cupti.launch()); });
    EXPECT_THAT(losses(), IsEmpty());
}

} // namespace
} // namespace tilescope::trace
