#include "core/query/tables/step_change.h"

#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;
using Make = std::function<void(testing::FakeTrace&)>;

class StepChanges : public ::testing::Test {
protected:
    StepChange changeOf(const Make& a, const Make& b, std::optional<std::int64_t> delta = {})
    {
        const store::RunReader left(write("a.tscope", a));
        const store::RunReader right(write("b.tscope", b));
        const std::vector<RunId> run{RunId{1}};
        return stepChange(left, run, right, run, delta).value();
    }

    std::filesystem::path write(const char* name, const Make& make)
    {
        const std::filesystem::path file = folder_ / name;
        StringTable strings;
        testing::FakeTrace trace(strings);
        make(trace);
        store::RunWriter writer(file, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
        return file;
    }

    static std::int64_t sumOf(const StepChange& change)
    {
        return std::accumulate(change.parts.begin(), change.parts.end(), std::int64_t{0},
                               [](std::int64_t sum, const ChangePart& part) { return sum + part.delta; });
    }

    static std::vector<std::string> linesOf(const StepChange& change)
    {
        std::vector<std::string> lines;
        for (const ChangePart& part : change.parts)
            lines.push_back(std::string(wordOf(part.kind)) + " " + part.module + " " + part.name + " " +
                            std::to_string(part.delta));
        return lines;
    }

private:
    testing::TemporaryFolder folder_;
};

/// Two layers with a gemm of 100 and naive attention of 40 + 60; the host launches until 500, idle until 600.
void naive(testing::FakeTrace& trace)
{
    trace.step(0, 0, 1000);
    for (int layer = 0; layer < 2; ++layer) {
        const std::string path = "step/forward/layers." + std::to_string(layer);
        const std::int64_t at = 100 + 300 * layer;
        trace.kernel("gemm", at, at + 100).at(path + "/ffn");
        trace.kernel("scores", at + 100, at + 140).at(path + "/attention");
        trace.kernel("softmax", at + 140, at + 200).at(path + "/attention");
    }
}

/// The same with a gemm of 110 and fused attention of 30, in a step that is 150 shorter.
void fused(testing::FakeTrace& trace)
{
    trace.step(0, 0, 850);
    for (int layer = 0; layer < 2; ++layer) {
        const std::string path = "step/forward/layers." + std::to_string(layer);
        const std::int64_t at = 100 + 300 * layer;
        trace.kernel("gemm", at, at + 110).at(path + "/ffn");
        trace.kernel("flash", at + 110, at + 140).at(path + "/attention");
    }
}

TEST_F(StepChanges, PartsAddUpToTheChangeOfTheTracedStep)
{
    const StepChange change = changeOf(naive, fused);
    EXPECT_TRUE(change.onGpu);
    EXPECT_FALSE(change.isOfTimedSteps);
    EXPECT_EQ(change.delta, -150);
    EXPECT_EQ(sumOf(change), -150);
    const std::vector<std::string> lines = linesOf(change);
    ASSERT_GE(lines.size(), 5U);
    EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 2),
                ElementsAre("gone forward/layers.*/attention softmax -120",
                            "gone forward/layers.*/attention scores -80"));
    EXPECT_THAT(lines, ::testing::Contains("new forward/layers.*/attention flash 60"));
    EXPECT_THAT(lines, ::testing::Contains("slower forward/layers.*/ffn gemm 20"));
    EXPECT_DOUBLE_EQ(change.aligned, 1);
}

TEST_F(StepChanges, TheChangeOfTimedStepsHasARestThatTheTraceDoesNotShow)
{
    const StepChange change = changeOf(naive, fused, -170);
    EXPECT_TRUE(change.isOfTimedSteps);
    EXPECT_EQ(change.delta, -170);
    EXPECT_EQ(sumOf(change), -170);
    const auto rest = std::ranges::find(change.parts, ChangeKind::Untraced, &ChangePart::kind);
    ASSERT_NE(rest, change.parts.end());
    EXPECT_EQ(rest->delta, -20);
}

TEST_F(StepChanges, OverlapIsAPartOfItsOwn)
{
    const auto apart = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 300);
        trace.kernel("a", 100, 150);
        trace.kernel("b", 150, 200);
    };
    const auto together = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 250);
        trace.kernel("a", 100, 150);
        trace.kernel("b", 100, 150).on(9);
    };
    const StepChange change = changeOf(apart, together);
    EXPECT_EQ(sumOf(change), -50);
    EXPECT_THAT(linesOf(change), ElementsAre("overlap   -50"));
    EXPECT_DOUBLE_EQ(change.aligned, 0) << "no kernel is in a module";
}

TEST_F(StepChanges, EqualRunsHaveNoParts)
{
    const StepChange change = changeOf(naive, naive);
    EXPECT_EQ(change.delta, 0);
    EXPECT_TRUE(change.parts.empty());
    EXPECT_TRUE(causesOf(change).empty());
}

TEST_F(StepChanges, OnACpuPartsAreTheSelfTimeOfOps)
{
    const auto run = [](std::int64_t softmax) {
        return [softmax](testing::FakeTrace& trace) {
            trace.step(0, 0, 100 + softmax);
            trace.op("aten::softmax", 10, 20 + softmax).at("step/forward/attention");
            trace.op("aten::mm", 15, 20, trace.lastOp()).at("step/forward/attention");
        };
    };
    const StepChange change = changeOf(run(0), run(40));
    EXPECT_FALSE(change.onGpu);
    EXPECT_EQ(change.delta, 40);
    EXPECT_THAT(linesOf(change), ElementsAre("slower forward/attention aten::softmax 40"));
}

TEST_F(StepChanges, CausesNameTheModuleAndItsKernels)
{
    const std::vector<std::string> causes = causesOf(changeOf(naive, fused));
    ASSERT_EQ(causes.size(), 2U);
    EXPECT_THAT(causes[0], StartsWith("forward/layers.*/attention -140"));
    EXPECT_THAT(causes[0], ::testing::HasSubstr("is gone"));
    EXPECT_THAT(causes[1], StartsWith("forward/layers.*/ffn +20"));
    EXPECT_EQ(causesOf(changeOf(naive, fused), 1).size(), 1U);
}

TEST_F(StepChanges, NeedTracedStepsOfOneKind)
{
    const store::RunReader left(write("a.tscope", naive));
    const store::RunReader right(write("b.tscope", [](testing::FakeTrace& trace) {
        trace.step(0, 0, 100);
        trace.op("aten::mm", 1, 2);
    }));
    const std::vector<RunId> run{RunId{1}};
    EXPECT_FALSE(stepChange(left, run, right, run, {}));
}

TEST(AlignedModule, ReplacesTheNumbersOfLayers)
{
    EXPECT_EQ(alignedModule("step/forward/layers.3/attention"), "forward/layers.*/attention");
    EXPECT_EQ(alignedModule("trace/step/backward/h.12.mlp"), "backward/h.*.mlp");
    EXPECT_EQ(alignedModule("step/forward/conv2d.x1"), "forward/conv2d.x1");
    EXPECT_EQ(alignedModule("step"), "");
    EXPECT_EQ(alignedModule("3/4"), "3/4");
}

} // namespace
} // namespace tilescope::query
