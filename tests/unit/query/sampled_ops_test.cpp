#include "core/query/waiting/sampled_ops.h"

#include "core/analysis/waiting/host_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;

constexpr ThreadId kMain{1};
constexpr ThreadId kAutograd{2};
constexpr std::uint32_t kLinear = 1;
constexpr std::uint32_t kEngine = 2;

class OpsOfSamples : public ::testing::Test {
protected:
    OpsOfSamples()
    {
        samples_.stacks = {{kNoStack, "train.py(1): step", 2},
                           {0, "torch/nn/modules/linear.py(130): forward", 134},
                           {0, "torch/autograd/graph.py(820): _engine_run_backward", 829}};
        samples_.threads = {{.thread = kMain}};
    }
    void sample(std::int64_t time, std::uint32_t stack, std::uint32_t state)
    {
        samples_.threads[0].samples.push_back({timestampAt(time), stack, state});
    }
    void op(ThreadId thread, const std::string& name, std::int64_t start, std::int64_t end)
    {
        names_.push_back(name);
        Op op;
        op.name = StringId{static_cast<std::uint32_t>(names_.size())};
        op.thread = thread;
        op.start = timestampAt(start);
        op.end = timestampAt(end);
        ops_.push_back(op);
    }
    /// Of each sample, the innermost call, and its caller's line.
    std::vector<std::string> joined()
    {
        SampledOps ops(samples_);
        for (const Op& each : ops_)
            ops.add(each);
        ops.join([this](StringId name) { return names_[name.value - 1]; });
        std::vector<std::string> calls;
        for (const HostSample& each : samples_.threads[0].samples) {
            const HostStack& call = samples_.stacks[each.stack];
            calls.push_back(
                call.function +
                (call.line > 0 ? "" : " below " + std::to_string(samples_.stacks[call.caller].line)));
        }
        return calls;
    }

    HostSamples samples_;
    std::vector<Op> ops_;
    std::vector<std::string> names_;
};

TEST_F(OpsOfSamples, NameTheInnermostOpOfTheThread)
{
    for (const std::int64_t time : {5, 15, 25, 35})
        sample(time, kLinear, SampleState::kInNative);
    op(kMain, "aten::mm", 20, 30);
    op(kMain, "aten::linear", 10, 40);
    EXPECT_THAT(joined(), ElementsAre("torch/nn/modules/linear.py(130): forward", "aten::linear below 134",
                                      "aten::mm below 134", "aten::linear below 134"));
}

TEST_F(OpsOfSamples, DoNotHidePythonThatAnOpCalls)
{
    sample(15, kLinear, SampleState::kRan);
    sample(16, kLinear, SampleState::kLaunch);
    sample(17, kLinear, 0);
    op(kMain, "MyFunction", 10, 20);
    EXPECT_THAT(joined(), ElementsAre("torch/nn/modules/linear.py(130): forward",
                                      "torch/nn/modules/linear.py(130): forward",
                                      "torch/nn/modules/linear.py(130): forward"));
}

TEST_F(OpsOfSamples, OfTheBackwardPassAreThoseOfItsThreads)
{
    sample(15, kEngine, 0);
    sample(16, kLinear, SampleState::kInNative);
    op(kAutograd, "MulBackward0", 10, 20);
    EXPECT_THAT(joined(), ElementsAre("MulBackward0 below 829", "torch/nn/modules/linear.py(130): forward"));
}

TEST_F(OpsOfSamples, KeepTheCauseAndTheLineOfThePythonThatCallsThem)
{
    sample(15, kEngine, 0);
    sample(25, kLinear, SampleState::kInNative);
    op(kAutograd, "MulBackward0", 10, 20);
    op(kMain, "aten::mm", 20, 30);
    joined();
    const std::vector<HostSample>& samples = samples_.threads[0].samples;
    const analysis::HostCauses causes(samples_.stacks);
    EXPECT_EQ(causes.of(samples[0]), analysis::HostCause::Backward);
    EXPECT_EQ(causes.of(samples[1]), analysis::HostCause::Native);
    for (const HostSample& each : samples)
        EXPECT_EQ(analysis::programCalls(samples_.stacks)[each.stack], 0U);
    EXPECT_EQ(analysis::pythonCalls(samples_.stacks)[samples[0].stack], kEngine);
    EXPECT_EQ(analysis::pythonCalls(samples_.stacks)[samples[1].stack], kLinear);
}

} // namespace
} // namespace tilescope::query
