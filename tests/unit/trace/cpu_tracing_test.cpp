#include "core/trace/allocators/cpu_allocator.h"
#include "core/trace/host/range.h"
#include "core/trace/tracer.h"
#include "tests/unit/trace/collected_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

namespace tilescope::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

/// A two-layer network whose modules open ranges as the engine's do.
at::Tensor forward(const at::Tensor& input, const std::vector<at::Tensor>& weights)
{
    at::Tensor x = input;
    for (std::size_t layer = 0; layer < weights.size(); ++layer) {
        const ScopedRange module(layer == 0 ? "layers.0" : "layers.1");
        const ScopedRange inner("mlp");
        x = at::gelu(at::matmul(x, weights[layer]));
    }
    return x;
}

class CpuTracing : public ::testing::Test {
protected:
    CpuTracing() { CpuAllocator::install(); }

    void runStep(Tracer& tracer, std::int32_t step)
    {
        tracer.setStep(step);
        {
            const ScopedRange range("step", "step_" + std::to_string(step));
            at::Tensor output;
            {
                const ScopedRange phase("forward");
                output = forward(input, weights);
            }
            {
                const ScopedRange phase("loss");
                output = output.sum();
            }
            {
                const ScopedRange phase("backward");
                output.backward();
            }
        }
        tracer.setStep(kNoStep);
        for (at::Tensor& weight : weights)
            weight.mutable_grad().reset();
    }

    std::string text(StringId id) const { return std::string(strings.text(id)); }
    std::multiset<std::string> opPaths(const std::string& name) const
    {
        std::multiset<std::string> paths;
        for (const Op& op : sink.all.ops) {
            if (text(op.name) == name)
                paths.insert(text(op.path));
        }
        return paths;
    }
    std::vector<std::string> rangePaths() const
    {
        std::vector<std::string> paths;
        for (const Range& range : sink.all.ranges)
            paths.push_back(text(range.path));
        return paths;
    }

    at::Tensor input = at::randn({8, 16});
    std::vector<at::Tensor> weights = {at::randn({16, 16}).requires_grad_(),
                                       at::randn({16, 16}).requires_grad_()};
    StringTable strings;
    CollectedTrace sink;
};

TEST_F(CpuTracing, RangesFormPathsAndKnowTheirParents)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 7);
    tracer.stop();

    EXPECT_THAT(rangePaths(), ElementsAre("step", "step/forward", "step/forward/layers.0",
                                          "step/forward/layers.0/mlp", "step/forward/layers.1",
                                          "step/forward/layers.1/mlp", "step/loss", "step/backward"));
    const Range& step = sink.all.ranges[0];
    EXPECT_EQ(text(step.name), "step_7");
    EXPECT_FALSE(step.parent);
    for (std::size_t i = 1; i < sink.all.ranges.size(); ++i) {
        const Range& range = sink.all.ranges[i];
        EXPECT_EQ(range.step, 7);
        EXPECT_LE(range.start, range.end);
        EXPECT_GE(range.start, step.start);
        EXPECT_LE(range.end, step.end);
    }
    EXPECT_EQ(sink.all.ranges[3].parent, sink.all.ranges[2].id);
    EXPECT_THAT(sink.all.losses, IsEmpty());
    EXPECT_GT(sink.all.recordsChecked, 20);
}

TEST_F(CpuTracing, BackwardOpsCarryTheModuleOfTheirForwardOp)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 0);
    tracer.stop();

    EXPECT_THAT(opPaths("MmBackward0"),
                ElementsAre("step/backward/layers.0/mlp", "step/backward/layers.1/mlp"));
    EXPECT_THAT(opPaths("GeluBackward0"),
                ElementsAre("step/backward/layers.0/mlp", "step/backward/layers.1/mlp"));
    EXPECT_THAT(opPaths("SumBackward0"), ElementsAre("step/backward/loss"));
    EXPECT_THAT(opPaths("torch::autograd::AccumulateGrad"),
                ElementsAre("step/backward/layers.0/mlp", "step/backward/layers.1/mlp"));
    EXPECT_THAT(opPaths("aten::gelu"), ElementsAre("step/forward/layers.0/mlp", "step/forward/layers.1/mlp"));
    // What runs inside a backward op belongs to it.
    EXPECT_THAT(opPaths("aten::gelu_backward"),
                ElementsAre("step/backward/layers.0/mlp", "step/backward/layers.1/mlp"));
}

TEST_F(CpuTracing, BackwardOpsKeepTheNumberOfTheirForwardOp)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 0);
    tracer.stop();

    std::set<std::int64_t> forward;
    std::set<std::int64_t> backward;
    for (const Op& op : sink.all.ops) {
        if (text(op.name) == "aten::gelu")
            forward.insert(op.sequence);
        if (text(op.name) == "GeluBackward0") {
            EXPECT_EQ(op.scope, OpScope::Backward);
            backward.insert(op.sequence);
        }
        if (text(op.name) == "torch::autograd::AccumulateGrad") {
            EXPECT_EQ(op.sequence, -1); // it has no forward op
        }
    }
    EXPECT_EQ(backward.size(), 2U);
    EXPECT_EQ(backward, forward);
}

TEST_F(CpuTracing, OpsNest)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 0);
    tracer.stop();

    std::map<std::uint32_t, const Op*> byId;
    for (const Op& op : sink.all.ops)
        byId[op.id.value] = &op;
    int nested = 0;
    for (const Op& op : sink.all.ops) {
        EXPECT_THAT(text(op.name), Not(::testing::HasSubstr("evaluate_function")));
        EXPECT_EQ(op.step, 0);
        if (!op.parent)
            continue;
        ASSERT_TRUE(byId.contains(op.parent.value));
        const Op& parent = *byId[op.parent.value];
        EXPECT_LE(parent.start, op.start);
        EXPECT_GE(parent.end, op.end);
        nested += text(op.name) == "aten::mm" && text(parent.name) == "aten::matmul";
    }
    EXPECT_EQ(nested, 2);
}

TEST_F(CpuTracing, AllocationsBalanceAndNameTheirOps)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 0);
    tracer.stop();

    std::map<std::uint64_t, std::int64_t> live;
    std::set<std::string> paths;
    std::int64_t held = -1;
    for (const AllocEvent& event : sink.all.allocEvents) {
        if (held >= 0) {
            const std::int64_t change = event.action == AllocAction::Alloc ? event.bytes : -event.bytes;
            EXPECT_EQ(event.allocated, held + change);
        }
        held = event.allocated;
        if (event.action == AllocAction::Alloc) {
            EXPECT_TRUE(live.emplace(event.address, event.bytes).second);
            paths.insert(text(event.path));
            EXPECT_TRUE(event.op) << "every tensor here is some op's";
        } else {
            ASSERT_EQ(event.action, AllocAction::FreeCompleted);
            EXPECT_EQ(live.at(event.address), event.bytes);
            live.erase(event.address);
        }
    }
    EXPECT_THAT(live, IsEmpty());
    EXPECT_THAT(paths, Contains("step/forward/layers.1/mlp"));
    EXPECT_THAT(paths, Contains("step/backward/layers.0/mlp"));
}

TEST_F(CpuTracing, ShapesComeFromOneExtraStep)
{
    Tracer tracer({.memory = false, .shapes = true}, strings, sink);
    tracer.start(Recording::ReferenceStep);
    runStep(tracer, 0);
    tracer.stop();
    EXPECT_THAT(sink.all.ops, IsEmpty());

    tracer.start();
    runStep(tracer, 0);
    runStep(tracer, 1);
    tracer.stop();
    int products = 0;
    for (const Op& op : sink.all.ops) {
        if (text(op.name) == "aten::mm" && text(op.path).starts_with("step/forward")) {
            EXPECT_EQ(text(op.shapes), "f32[8, 16] f32[16, 16]");
            ++products;
        }
    }
    EXPECT_EQ(products, 4);
    EXPECT_THAT(sink.all.losses, IsEmpty());
}

TEST_F(CpuTracing, NothingIsRecordedBetweenStopAndStart)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    runStep(tracer, 0);
    tracer.stop();
    const std::size_t ops = sink.all.ops.size();
    runStep(tracer, 1);
    tracer.start();
    runStep(tracer, 2);
    tracer.stop();
    EXPECT_EQ(sink.all.ops.size(), 2 * ops);
    std::set<std::uint32_t> ids;
    for (const Op& op : sink.all.ops) {
        EXPECT_NE(op.step, 1);
        EXPECT_TRUE(ids.insert(op.id.value).second) << "ids are unique over the run";
    }
    EXPECT_FALSE(at::hasGlobalCallbacks());
}

TEST_F(CpuTracing, RangesStillOpenAtTheEndAreClosed)
{
    Tracer tracer({}, strings, sink);
    tracer.start();
    const ScopedRange open("trace");
    runStep(tracer, 0);
    tracer.stop();
    EXPECT_THAT(rangePaths(), Contains("trace"));
    EXPECT_THAT(rangePaths(), Contains("step")) << "a step starts a path of its own";
    EXPECT_EQ(sink.all.ranges[1].parent, sink.all.ranges[0].id);
}

} // namespace
} // namespace tilescope::trace
