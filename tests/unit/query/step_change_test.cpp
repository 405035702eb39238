#include "core/query/compare/step_change.h"

#include "core/model/processes.h"
#include "core/query/overview/run_overview.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
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

TEST_F(StepChanges, RoundingGoesToPartsThatASideHas)
{
    // Means of three steps are thirds of nanoseconds; kernels follow each other without a gap.
    const auto steps = [](std::int64_t more) {
        return [more](testing::FakeTrace& trace) {
            for (std::int64_t step = 0; step < 3; ++step) {
                const std::int64_t begin = 10'000 * (step + 1);
                std::int64_t now = begin;
                for (int kernel = 0; kernel < 7; ++kernel) {
                    const std::int64_t end = now + 100 + (step == 0 ? more : 0);
                    trace.kernel("kernel" + std::to_string(kernel), now, end).at("step/forward");
                    now = end;
                }
                trace.step(static_cast<int>(step), begin, now);
            }
        };
    };
    const StepChange change = changeOf(steps(0), steps(1));
    EXPECT_EQ(sumOf(change), change.delta);
    EXPECT_FALSE(change.parts.empty());
    for (const ChangePart& part : change.parts) {
        EXPECT_TRUE(part.a.value_or(0) != 0 || part.b.value_or(0) != 0) << wordOf(part.kind) << part.name;
        EXPECT_NEAR(static_cast<double>(part.delta), part.b.value_or(0) - part.a.value_or(0), 1) << part.name;
    }
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
    EXPECT_EQ(change.alignedBy, AlignedBy::Kernels) << "no kernel is in a module";
    EXPECT_DOUBLE_EQ(change.aligned, 1);
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

/// Two ranks on a CPU. Rank 0 multiplies for 100 ns, reduces until `end` and adds meanwhile for 20 ns; rank 1 is slower.
std::filesystem::path writeRanks(const std::filesystem::path& file, std::int64_t end)
{
    StringTable strings;
    testing::FakeTrace trace(strings);
    trace.step(0, 0, 300).op("aten::mm", 0, 100).op("aten::add", 180, 200);
    trace.step(0, 0, 1300).op("aten::mm", 0, 900 + end);
    TraceBatch batch = trace.batch();
    batch.ranges[1].thread = batch.ops[2].thread = ThreadId{2};
    RunTopology topology;
    topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
    for (const int rank : {0, 1}) {
        topology.processes.push_back({.id = ProcessIndex{rank},
                                      .pid = 100 + rank,
                                      .host = "node",
                                      .name = "engine",
                                      .rank = rank,
                                      .worldSize = 2,
                                      .clock = ClockIndex{0}});
        batch.threads.push_back({ThreadId{static_cast<std::uint32_t>(1 + rank)}, strings.intern("main"),
                                 ProcessIndex{rank}, 100 + rank});
    }
    Collective reduce;
    reduce.process = ProcessIndex{0};
    reduce.op = strings.intern("all_reduce");
    reduce.thread = ThreadId{1};
    reduce.step = 0;
    reduce.start = timestampAt(100);
    reduce.end = timestampAt(end);
    batch.collectives.push_back(reduce);
    store::RunWriter writer(file, strings);
    writer.beginRun({"test", "lm", "{}", "hash", "test"});
    writer.writeTopology(topology);
    writer.write(batch);
    writer.endRun({});
    return file;
}

TEST_F(StepChanges, OfRanksAreThoseOfOneOrOfTheirMean)
{
    const testing::TemporaryFolder folder;
    const store::RunReader left(writeRanks(folder / "left.tscope", 250));
    const store::RunReader right(writeRanks(folder / "right.tscope", 280));
    const std::vector<RunId> run{RunId{1}};
    const StepChange lowest = stepChange(left, run, right, run, {}, {.rank = 0}).value();
    EXPECT_EQ(lowest.process, "rank 0");
    EXPECT_EQ(lowest.delta, 0);
    EXPECT_THAT(linesOf(lowest),
                ::testing::UnorderedElementsAre("exposed communication  all_reduce 30", "outside ops   -30"));
    const StepChange other = stepChange(left, run, right, run, {}, {.rank = 1}).value();
    EXPECT_EQ(other.process, "rank 1");
    EXPECT_THAT(linesOf(other), ::testing::Contains("slower  aten::mm 30"));
    EXPECT_EQ(sumOf(other), other.delta);
    const StepChange mean = stepChange(left, run, right, run, {}).value();
    EXPECT_EQ(mean.process, "mean of 2 ranks");
    EXPECT_EQ(2 * mean.delta, lowest.delta + other.delta);
    EXPECT_EQ(mean.stepsA, lowest.stepsA + other.stepsA);
    EXPECT_EQ(sumOf(mean), mean.delta);
    EXPECT_THAT(linesOf(mean), ::testing::Contains("slower  aten::mm 15"));
}

/// The change of each part, ns, by the part's place and name.
std::map<std::string, double> changesOf(const StepChange& change)
{
    std::map<std::string, double> changes;
    for (const ChangePart& part : change.parts) {
        const bool isOfAModule = !part.name.empty();
        changes[isOfAModule ? part.module + ' ' + part.name : std::string(wordOf(part.kind))] +=
            part.b.value_or(0) - part.a.value_or(0);
    }
    return changes;
}

TEST_F(StepChanges, PartsOfTheMeanOfRanksAreTheMeanOfThoseOfEach)
{
    constexpr int kRanks = 3;
    const testing::TemporaryFolder folder;
    writeRandomRanks(folder / "left.tscope", kRanks, 3);
    writeRandomRanks(folder / "right.tscope", kRanks, 3, RandomRun::kSeed + kRanks);
    const store::RunReader left(folder / "left.tscope");
    const store::RunReader right(folder / "right.tscope");
    const std::vector<RunId> run{kOnlyRun};
    const StepChange mean = stepChange(left, run, right, run, {}).value();
    ASSERT_EQ(mean.alignedBy, AlignedBy::Modules);
    EXPECT_EQ(sumOf(mean), mean.delta);
    std::map<std::string, double> expected;
    double delta = 0;
    double wall = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
        const StepChange one = stepChange(left, run, right, run, {}, {.rank = rank}).value();
        ASSERT_EQ(one.alignedBy, AlignedBy::Modules);
        EXPECT_EQ(sumOf(one), one.delta) << rank;
        delta += static_cast<double>(one.delta) / kRanks;
        wall += one.wallA / kRanks;
        for (const auto& [part, change] : changesOf(one))
            expected[part] += change / kRanks;
    }
    EXPECT_NEAR(static_cast<double>(mean.delta), delta, 1);
    EXPECT_NEAR(mean.wallA, wall, 1e-3);
    const std::map<std::string, double> found = changesOf(mean);
    EXPECT_GE(found.size(), 20U);
    // A part whose change rounds to 0 is left out.
    for (const auto& [part, change] : expected)
        EXPECT_NEAR(found.contains(part) ? found.at(part) : 0, change, 1) << part;
    for (const auto& [part, change] : found)
        EXPECT_TRUE(expected.contains(part)) << part;
}

TEST_F(StepChanges, TheOverviewOfRanksOnACpuHasTheirCommunication)
{
    const testing::TemporaryFolder folder;
    const store::RunReader reader(writeRanks(folder / "ranks.tscope", 250));
    const RunOverview overview = runOverview(reader, RunId{1}, testing::kNotCancelled);
    ASSERT_TRUE(overview.step);
    EXPECT_EQ(overview.step->steps, 2) << "of each rank";
    // 150 ns of a collective, 20 of them beside an op, in one of two steps.
    EXPECT_EQ(overview.step->communication, 65);
}

TEST_F(StepChanges, CausesNameTheModuleAndItsKernels)
{
    const std::vector<std::string> causes = causesOf(changeOf(naive, fused));
    ASSERT_EQ(causes.size(), 3U);
    EXPECT_THAT(causes[0], StartsWith("forward/layers.*/attention -140"));
    EXPECT_THAT(causes[0], ::testing::HasSubstr("is gone"));
    EXPECT_THAT(causes[1], StartsWith("GPU idle for no recorded reason -30"));
    EXPECT_THAT(causes[2], StartsWith("forward/layers.*/ffn +20"));
    EXPECT_EQ(causesOf(changeOf(naive, fused), 1).size(), 1U);
}

/// Layers of a norm, a gemm and an addition, without modules.
void eager(testing::FakeTrace& trace)
{
    trace.step(0, 0, 1000);
    for (int layer = 0; layer < 3; ++layer) {
        const std::int64_t at = 300 * layer;
        trace.kernel("layer_norm", at, at + 10);
        trace.kernel("sgemm_128x64", at + 10, at + 210);
        trace.kernel("vectorized_add", at + 210, at + 220);
    }
}

/// The same compiled: the addition and the norm after it are one kernel.
void compiled(testing::FakeTrace& trace)
{
    trace.step(0, 0, 900);
    trace.kernel("layer_norm", 0, 10);
    for (int layer = 0; layer < 3; ++layer) {
        const std::int64_t at = 10 + 290 * layer;
        trace.kernel("sgemm_128x64", at, at + 200);
        trace.kernel(layer < 2 ? "triton_per_fused_add_layer_norm_0" : "vectorized_add", at + 200, at + 212);
    }
}

TEST_F(StepChanges, AlignsKernelsByTheirOrderWithoutModules)
{
    const StepChange change = changeOf(eager, compiled);
    EXPECT_EQ(change.alignedBy, AlignedBy::Kernels);
    EXPECT_DOUBLE_EQ(change.aligned, 1);
    EXPECT_EQ(sumOf(change), -100);
    const auto fused = std::ranges::find(change.parts, ChangeKind::Replaced, &ChangePart::kind);
    ASSERT_NE(fused, change.parts.end());
    EXPECT_THAT(fused->name, ::testing::HasSubstr(" -> "));
    EXPECT_THAT(fused->name, ::testing::HasSubstr(" + "));
    EXPECT_EQ(fused->delta, 2 * 12 - 2 * 20);
    EXPECT_THAT(alignmentSentence(change), StartsWith("100 %"));
}

TEST_F(StepChanges, KernelsThatOneSideAloneHasAreNotAligned)
{
    const auto more = [](testing::FakeTrace& trace) {
        eager(trace);
        trace.kernel("dropout", 900, 1000);
    };
    const StepChange change = changeOf(eager, more);
    EXPECT_THAT(linesOf(change), ::testing::Contains("new  dropout 100"));
    EXPECT_NEAR(change.aligned, 1320.0 / 1420.0, 1e-9);
}

TEST_F(StepChanges, GivesKernelsOfAnotherProgramTheModulesOfA)
{
    const auto named = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 300);
        trace.kernel("sgemm_128x64", 0, 200).at("step/forward/layers.0/ffn");
        trace.kernel("softmax_warp_forward", 200, 250).at("step/forward/layers.0/attention");
    };
    const auto foreign = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 300);
        trace.kernel("sgemm_256x64", 0, 150).at("step/Linear_3");
        trace.kernel("softmax_warp_forward", 200, 240).at("step/Softmax_0");
    };
    const StepChange change = changeOf(named, foreign);
    EXPECT_EQ(change.alignedBy, AlignedBy::Kernels);
    EXPECT_DOUBLE_EQ(change.aligned, 1);
    EXPECT_THAT(
        linesOf(change),
        ::testing::IsSupersetOf({StartsWith("replaced forward/layers.*/ffn "),
                                 StartsWith("faster forward/layers.*/attention softmax_warp_forward -10")}));
}

TEST_F(StepChanges, AlignsByOpsWhereBothRecordedThem)
{
    const auto run = [](const char* kernel, std::int64_t end) {
        return [kernel, end](testing::FakeTrace& trace) {
            trace.step(0, 0, 200);
            trace.op("aten::linear", 0, 10);
            const OpId linear = trace.lastOp();
            trace.op("aten::addmm", 1, 9, linear);
            trace.kernel(kernel, 20, end).by(trace.lastOp());
        };
    };
    const StepChange change = changeOf(run("gemm_a", 60), run("gemm_b", 70));
    EXPECT_EQ(change.alignedBy, AlignedBy::Ops);
    EXPECT_DOUBLE_EQ(change.aligned, 1);
    EXPECT_THAT(linesOf(change),
                ::testing::Contains(::testing::AllOf(StartsWith("replaced aten::linear/aten::addmm "),
                                                     ::testing::EndsWith(" 10"))));
}

TEST_F(StepChanges, AttentionOfAnotherVendorReplacesThatOfAInItsOp)
{
    const auto run = [](const char* kernel, std::int64_t end, const char* region) {
        return [=](testing::FakeTrace& trace) {
            trace.step(0, 0, 200);
            trace.op(region, 0, 10);
            trace.op("aten::_scaled_dot_product_flash_attention", 1, 9, trace.lastOp());
            trace.kernel(kernel, 20, end).by(trace.lastOp());
        };
    };
    const StepChange change =
        changeOf(run("flash_fwd_kernel", 60, "block.1"), run("attn_fwd", 70, "block.2"));
    EXPECT_EQ(change.alignedBy, AlignedBy::Ops);
    EXPECT_THAT(linesOf(change), ::testing::Contains(StartsWith(
                                     "replaced block.*/aten::_scaled_dot_product_flash_attention ")));
}

TEST(AlignByPlace, KernelsOfOneShortNameAreOneCall)
{
    const CallTimes a{
        {{.place = "mlp", .name = "void vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)"}, 10},
        {{.place = "mlp", .name = "void vectorized_elementwise_kernel<2, CUDAFunctor_add<float>>(int)"}, 5}};
    const CallTimes b{
        {{.place = "mlp", .name = "void vectorized_elementwise_kernel<8, CUDAFunctor_add<float>>(int)"}, 9}};
    const StepAlignment alignment = alignByPlace(AlignedBy::Modules, a, b, true);
    ASSERT_EQ(alignment.calls.size(), 1U);
    EXPECT_DOUBLE_EQ(alignment.calls[0].a.value(), 15);
    EXPECT_DOUBLE_EQ(alignment.calls[0].b.value(), 9);
}

TEST_F(StepChanges, ExposedCommunicationAndCopiesArePartsOfTheirOwn)
{
    const auto run = [](std::int64_t reduceEnd, std::int64_t copyEnd) {
        return [reduceEnd, copyEnd](testing::FakeTrace& trace) {
            trace.step(0, 0, 400);
            trace.kernel("gemm", 0, 100).at("step/backward");
            trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50, reduceEnd).on(9).at("step/backward");
            trace.memset(64, 250, copyEnd).at("step/optimizer");
        };
    };
    const StepChange change = changeOf(run(100, 260), run(180, 290));
    EXPECT_EQ(change.delta, 0);
    EXPECT_EQ(sumOf(change), 0);
    EXPECT_DOUBLE_EQ(change.aligned, 1) << "communication and copies are aligned apart from kernels";
    EXPECT_THAT(
        linesOf(change),
        ::testing::IsSupersetOf({"exposed communication backward ncclDevKernel_AllReduce_Sum_f32_RING_LL 80",
                                 "exposed copy optimizer Memset (Device) 30"}));
}

TEST_F(StepChanges, WithoutStepsTheWholeRecordingsAreCompared)
{
    const auto run = [](std::int64_t end) {
        return [end](testing::FakeTrace& trace) {
            trace.kernel("gemm", 0, 100);
            trace.kernel("softmax", 150, end);
        };
    };
    const StepChange change = changeOf(run(200), run(240));
    EXPECT_TRUE(change.isWhole);
    EXPECT_EQ(change.delta, 40);
    EXPECT_THAT(linesOf(change), ElementsAre("slower  softmax 40"));
}

/// Attention that writes 4 KiB of scores, or a fused kernel with 1 KiB.
Make attention(bool isFused)
{
    return [isFused](testing::FakeTrace& trace) {
        trace.step(0, 0, 1000);
        trace.alloc(1, isFused ? 1024 : 4096, 10).at("step/forward/attention");
        if (isFused)
            trace.kernel("flash_fwd_kernel", 10, 60).at("step/forward/attention");
        else
            trace.kernel("softmax_warp_forward", 10, 200).at("step/forward/attention");
    };
}

TEST_F(StepChanges, SayWhatFusedAttentionSaves)
{
    EXPECT_THAT(causesOf(changeOf(attention(false), attention(true))),
                ::testing::Contains(::testing::HasSubstr(
                    "scores are no longer written to memory (-3.00 KiB), softmax is fused")));
}

TEST_F(StepChanges, SayWhatNaiveAttentionCosts)
{
    EXPECT_THAT(causesOf(changeOf(attention(true), attention(false))),
                ::testing::Contains(::testing::HasSubstr(
                    "scores are written to memory (+3.00 KiB), softmax is no longer fused")));
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
    EXPECT_EQ(alignedModule("step/Block_3/Linear_12"), "Block_*/Linear_*");
    EXPECT_EQ(alignedModule("step/forward/ln_1"), "forward/ln_1");
}

TEST(AlignedModule, LeavesOutWhatWrapsAModule)
{
    EXPECT_EQ(alignedModule("step/forward/DistributedDataParallel.forward/h.0"), "forward/h.*");
    EXPECT_EQ(alignedModule("step/forward/DeepSpeedEngine/module/h.0"), "forward/h.*");
    EXPECT_EQ(alignedModule("step/OptimizedModule_0/GPT_0/Block_1"), "GPT_*/Block_*");
    EXPECT_EQ(alignedModule("step/## Call CompiledFxGraph abc ##"), "");
    EXPECT_EQ(alignedModule("step/module/_orig_mod/ffn"), "ffn");
    EXPECT_EQ(alignedModule("step/module_list"), "module_list");
}

} // namespace
} // namespace tilescope::query
