#include "core/engine/run/engine.h"

#include "core/base/error.h"
#include "core/model/flags.h"
#include "core/trace/allocators/cpu_allocator.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace tilescope::engine {
namespace {

using test::Recorder;
using test::smallAttention;
using test::tinyLm;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kKernelSet = TILESCOPE_KERNEL_SET; // of this build

class EnginePoint : public ::testing::Test {
protected:
    RunResult run(const ExperimentSpec& spec) { return engine_.runPoint(spec, recorder_, stop_.get_token()); }

    std::vector<std::string> paths() const
    {
        std::vector<std::string> paths;
        for (const TraceBatch& batch : recorder_.batches)
            for (const Range& range : batch.ranges)
                paths.emplace_back(strings_.text(range.path));
        return paths;
    }

    std::vector<std::int32_t> tracedSteps() const
    {
        std::vector<std::int32_t> steps;
        for (const TraceBatch& batch : recorder_.batches)
            for (const Range& range : batch.ranges)
                if (strings_.text(range.path) == "step")
                    steps.push_back(range.step);
        return steps;
    }

    StringTable strings_;
    Engine engine_{strings_};
    Recorder recorder_;
    std::stop_source stop_;
};

TEST_F(EnginePoint, RunsWarmUpTimedAndTracedStepsInThatOrder)
{
    const RunResult result = run(tinyLm());

    EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
    EXPECT_THAT(recorder_.states,
                ElementsAre(PointState::Warmup, PointState::Measure, PointState::Trace, PointState::Drain));
    EXPECT_EQ(recorder_.count(SampleKind::Warmup, Phase::Step), 1);
    EXPECT_EQ(recorder_.count(SampleKind::Measure, Phase::Step), 3);
    EXPECT_EQ(recorder_.count(SampleKind::Trace, Phase::Step), 2);
    EXPECT_THAT(tracedSteps(), ElementsAre(0, 1));
}

TEST_F(EnginePoint, NumbersStepsFromZeroWithinTheirKind)
{
    run(tinyLm());

    std::vector<std::int32_t> steps;
    for (const Sample& sample : recorder_.samples)
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
            steps.push_back(sample.step);
    EXPECT_THAT(steps, ElementsAre(0, 1, 2));
}

struct PhasesOfMode {
    Mode mode;
    std::vector<Phase> timed;
    std::vector<Phase> untimed;
};

class EngineMode : public ::testing::TestWithParam<PhasesOfMode> {};

TEST_P(EngineMode, TimesThePhasesOfTheMode)
{
    StringTable strings;
    Engine engine{strings};
    Recorder recorder;
    ExperimentSpec spec = tinyLm();
    spec.mode = GetParam().mode;

    const RunResult result = engine.runPoint(spec, recorder, {});

    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    for (const Phase phase : GetParam().timed)
        EXPECT_EQ(recorder.count(SampleKind::Measure, phase), spec.steps);
    for (const Phase phase : GetParam().untimed)
        EXPECT_EQ(recorder.count(SampleKind::Measure, phase), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Lm, EngineMode,
    ::testing::Values(
        PhasesOfMode{
            Mode::Forward, {Phase::Step, Phase::Forward}, {Phase::Loss, Phase::Backward, Phase::Optimizer}},
        PhasesOfMode{
            Mode::Backward, {Phase::Step, Phase::Backward}, {Phase::Forward, Phase::Loss, Phase::Optimizer}},
        PhasesOfMode{
            Mode::Both, {Phase::Step, Phase::Forward, Phase::Loss, Phase::Backward}, {Phase::Optimizer}},
        PhasesOfMode{
            Mode::Train, {Phase::Step, Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer}, {}}));

TEST_F(EnginePoint, StepTakesAtLeastAsLongAsItsPhases)
{
    run(tinyLm());

    Nanoseconds phases{0};
    for (const Sample& sample : recorder_.samples) {
        EXPECT_GT(sample.wall.count(), 0);
        EXPECT_FALSE(sample.gpu.has_value());
        if (sample.phase == Phase::Step) {
            phases = sample.wall;
        } else {
            EXPECT_LE(sample.wall, phases);
        }
    }
}

TEST_F(EnginePoint, TimesPhasesWithoutWaitingForEach)
{
    ExperimentSpec spec = tinyLm();
    spec.timing = StepTiming::Step;
    spec.mode = Mode::Train;
    ASSERT_EQ(run(spec).status, RunStatus::Ok);

    // On a CPU the borders are readings of one clock: the phases of a step fill it.
    Nanoseconds rest{0};
    for (const Sample& sample : recorder_.samples) {
        EXPECT_GT(sample.wall.count(), 0);
        if (sample.phase == Phase::Step) {
            EXPECT_EQ(rest.count(), 0);
            rest = sample.wall;
        } else {
            rest -= sample.wall;
        }
    }
    EXPECT_EQ(rest.count(), 0);
}

TEST_F(EnginePoint, OpensRangesByPhaseAndModule)
{
    ExperimentSpec spec = tinyLm();
    spec.mode = Mode::Train;
    spec.annotateAttention = true;
    run(spec);

    const auto all = paths();
    for (const char* path :
         {"step", "step/forward", "step/forward/embedding", "step/forward/layers.1/attention_norm",
          "step/forward/layers.1/attention/softmax", "step/forward/layers.0/ffn", "step/forward/norm",
          "step/forward/lm_head", "step/loss", "step/backward", "step/optimizer"})
        EXPECT_THAT(all, Contains(path));
    EXPECT_EQ(std::count(all.begin(), all.end(), "step/forward/layers.0/attention/scores"), spec.traceSteps);
}

TEST_F(EnginePoint, AnnotatesInsideAttentionOnlyWhenAsked)
{
    run(tinyLm());
    EXPECT_THAT(paths(), Not(Contains(HasSubstr("softmax"))));
}

TEST_F(EnginePoint, GivesTheSameLossForTheSameSeed)
{
    ExperimentSpec spec = tinyLm();
    spec.mode = Mode::Train;
    spec.loss = LossKind::CrossEntropy;
    const auto first = run(spec).finalLoss();
    const auto again = run(spec).finalLoss();
    spec.seed = 1;
    const auto other = run(spec).finalLoss();

    ASSERT_TRUE(first && again && other);
    EXPECT_EQ(*first, *again);
    EXPECT_NE(*first, *other);
}

TEST_F(EnginePoint, ReadsTheLossOfEachTimedStep)
{
    ExperimentSpec spec = tinyLm();
    spec.steps = 4;
    spec.mode = Mode::Train;
    spec.loss = LossKind::CrossEntropy;
    for (const auto compile : {CompileRequest::Kind::None, CompileRequest::Kind::Fused}) {
        spec.compile.kind = compile;
        spec.backend = compile == CompileRequest::Kind::Fused ? Backend::Flash : Backend::Naive;
        const std::vector<std::optional<double>> losses = run(spec).losses;
        ASSERT_EQ(losses.size(), 4U);
        for (std::size_t i = 0; i < losses.size(); ++i) {
            ASSERT_TRUE(losses[i]);
            EXPECT_NEAR(*losses[i], std::log(100), 1) << "the vocabulary has 100 words";
            EXPECT_TRUE(i == 0 || losses[i] != losses[i - 1]) << "each step has a batch of its own";
        }
    }
    // That of attention is a sum over the output, which takes memory: only after the last step.
    ExperimentSpec attention;
    attention.workload = Workload::Attention;
    attention.device = {DeviceRequest::Kind::Cpu};
    attention.steps = 3;
    attention.seqLen = attention.kvLen = 16;
    const std::vector<std::optional<double>> sums = run(attention).losses;
    ASSERT_EQ(sums.size(), 3U);
    EXPECT_FALSE(sums[0] || sums[1]);
    EXPECT_TRUE(sums[2]);
}

TEST_F(EnginePoint, CountsTheParametersOfTheModel)
{
    // Embedding and head, two layers of 4 d^2 + 3 d f and two norms, one norm at the end.
    EXPECT_EQ(run(tinyLm()).parameters, 2 * 100 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 64 + 2 * 32) + 32);
}

TEST_F(EnginePoint, StopsAfterTheStepDuringWhichItWasAsked)
{
    ExperimentSpec spec = tinyLm();
    spec.steps = 1000;
    recorder_.onSample = [this](const Sample& sample) {
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step && sample.step == 4)
            stop_.request_stop();
    };
    const RunResult result = run(spec);

    EXPECT_EQ(result.status, RunStatus::Cancelled);
    EXPECT_EQ(result.reason, "cancelled after 5 of 1000 timed steps");
    EXPECT_EQ(recorder_.count(SampleKind::Measure, Phase::Step), 5);
    EXPECT_EQ(recorder_.count(SampleKind::Measure, Phase::Backward), 5);
}

TEST_F(EnginePoint, RunsInBf16OnTheCpu)
{
    ExperimentSpec spec = tinyLm();
    spec.mode = Mode::Train;
    spec.loss = LossKind::CrossEntropy;
    const double exact = run(spec).finalLoss().value();
    spec.precision = Precision::Bf16;
    const RunResult result = run(spec);

    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    EXPECT_NE(result.finalLoss().value(), exact);
    EXPECT_NEAR(result.finalLoss().value(), exact, 0.05);
}

TEST_F(EnginePoint, SkipsTf32OnTheCpu)
{
    ExperimentSpec spec = smallAttention();
    spec.precision = Precision::Tf32;
    const RunResult result = run(spec);

    EXPECT_EQ(result.status, RunStatus::Skipped);
    EXPECT_THAT(result.reason, HasSubstr("tensor cores"));
}

TEST_F(EnginePoint, SkipsACudaGraphOnTheCpu)
{
    ExperimentSpec spec = tinyLm();
    spec.compile = {CompileRequest::Kind::Graph};
    const RunResult result = run(spec);

    EXPECT_EQ(result.status, RunStatus::Skipped);
    EXPECT_THAT(result.reason, HasSubstr("needs a GPU"));
}

TEST_F(EnginePoint, HoldsLessBeforeBackwardTheMoreItComputesAgain)
{
    ExperimentSpec spec = tinyLm();
    spec.layers = 6;
    spec.context = 64;
    std::vector<std::int64_t> held;
    std::vector<double> losses;
    for (const Checkpointing checkpointing :
         {Checkpointing{}, Checkpointing{Checkpointing::Kind::Attention},
          Checkpointing{Checkpointing::Kind::Block, 1, 2}, Checkpointing{Checkpointing::Kind::Block, 1},
          Checkpointing{Checkpointing::Kind::Block, 3}}) {
        spec.checkpointing = checkpointing;
        const RunResult result = run(spec);
        ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
        held.push_back(result.beforeBackward->count);
        losses.push_back(*result.finalLoss());
    }
    EXPECT_GT(held[0], held[1]);
    EXPECT_GT(held[1], held[2]);
    EXPECT_GT(held[2], held[3]);
    EXPECT_GT(held[3], held[4]);
    EXPECT_THAT(losses, ::testing::Each(losses.front()));
}

TEST_F(EnginePoint, BackendsAgreeOnTheOutput)
{
    ExperimentSpec spec = smallAttention();
    spec.mode = Mode::Forward;
    const double naive = run(spec).finalLoss().value();
    for (const Backend backend :
         {Backend::FlashTorch, Backend::Sdpa, Backend::SdpaFlash, Backend::SdpaMath}) {
        spec.backend = backend;
        const RunResult result = run(spec);
        ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
        EXPECT_NEAR(result.finalLoss().value(), naive, 1e-3);
    }
}

TEST_F(EnginePoint, TracesNothingWhenTracingIsOff)
{
    ExperimentSpec spec = tinyLm();
    spec.trace = TraceLevel::Off;
    const RunResult result = run(spec);

    EXPECT_EQ(result.status, RunStatus::Ok);
    EXPECT_EQ(recorder_.count(SampleKind::Trace, Phase::Step), 0);
    EXPECT_TRUE(recorder_.batches.empty());
    EXPECT_FALSE(result.traceOverhead.has_value());
}

TEST_F(EnginePoint, RecordsOpsWithTheirShapesWhenAsked)
{
    ExperimentSpec spec = tinyLm();
    spec.shapes = true;
    ASSERT_EQ(run(spec).status, RunStatus::Ok);

    EXPECT_THAT(tracedSteps(), ElementsAre(0, 1));
    std::vector<std::string> shapesOfProducts;
    for (const TraceBatch& batch : recorder_.batches)
        for (const Op& op : batch.ops)
            if (strings_.text(op.name) == "aten::mm" && strings_.text(op.path) == "step/forward/lm_head")
                shapesOfProducts.emplace_back(strings_.text(op.shapes));
    // The weight is transposed.
    const std::string product = "f32[32, 32] f32[32, 100]{1, 32}";
    EXPECT_THAT(shapesOfProducts, ElementsAre(product, product));
}

TEST_F(EnginePoint, TiesTheBackwardOfCustomFunctionsToTheirModule)
{
    ASSERT_EQ(run(tinyLm()).status, RunStatus::Ok);

    std::vector<std::string> inBackward;
    for (const TraceBatch& batch : recorder_.batches)
        for (const Op& op : batch.ops)
            if (strings_.text(op.name) == "aten::silu_backward" || strings_.text(op.name) == "aten::mul")
                inBackward.emplace_back(strings_.text(op.path));
    EXPECT_THAT(inBackward, Contains("step/backward/layers.0/ffn"));
    EXPECT_THAT(inBackward, Contains("step/backward/layers.1/attention"));
}

TEST_F(EnginePoint, MeasuresMemoryOfTheTimedSteps)
{
    ExperimentSpec spec = smallAttention();
    spec.batch = 1;
    spec.heads = spec.kvHeads = 1;
    spec.seqLen = spec.kvLen = 256;
    const RunResult result = run(spec);

    // Inputs, output, gradient of the output, and what naive keeps: mask, softmax' result and a placeholder.
    const std::int64_t row = 256 * 16 * 4;
    const std::int64_t held = 5 * row + 256 * 256 * (1 + 4) + 4;
    ASSERT_TRUE(result.beforeBackward && result.peakAllocated);
    EXPECT_EQ(result.beforeBackward->count, held);
    EXPECT_GE(result.peakAllocated->count, held + 256 * 256 * 4);
    EXPECT_LE(result.peakAllocated->count, held + 3 * 256 * 256 * 4);
    EXPECT_FALSE(result.peakReserved.has_value());

    ASSERT_EQ(recorder_.held.size(), static_cast<std::size_t>(spec.warmup + spec.steps));
    EXPECT_EQ(recorder_.held.front().kind, SampleKind::Warmup);
    EXPECT_FALSE(recorder_.held.front().peakAllocated.has_value());
    EXPECT_EQ(recorder_.held.back().peakAllocated, result.peakAllocated);
    EXPECT_GT(recorder_.held.back().allocated.count, 0);
}

TEST_F(EnginePoint, OutOfMemoryIsAResultWithItsSizesAndPhase)
{
    ExperimentSpec spec = smallAttention();
    spec.seqLen = spec.kvLen = 2048;
    spec.memoryLimit = Bytes{64 << 20};
    const RunResult result = run(spec);

    EXPECT_EQ(result.status, RunStatus::Oom);
    ASSERT_TRUE(result.oom.has_value());
    EXPECT_EQ(result.oom->phase, "forward");
    EXPECT_EQ(result.oom->requested, Bytes{4LL * 2048 * 2048 * 4}); // the scores
    EXPECT_GT(result.oom->allocated, Bytes{2048LL * 2048});         // the mask at least
    EXPECT_THAT(result.reason, HasSubstr("out of memory in forward: asked for 64.0 MiB"));

    // The next point finds a clean device.
    const RunResult next = run(smallAttention());
    EXPECT_EQ(next.status, RunStatus::Ok) << next.reason;
}

TEST_F(EnginePoint, OutOfMemoryBeforeTheFirstStepIsAResultToo)
{
    ExperimentSpec spec = tinyLm();
    spec.memoryLimit = Bytes{1000};
    const RunResult result = run(spec);
    EXPECT_EQ(result.status, RunStatus::Oom);
    EXPECT_EQ(result.oom->phase, "setup");
}

TEST_F(EnginePoint, LeavesNoTensorBehind)
{
    run(tinyLm());
    const Bytes before = trace::CpuAllocator::current();
    run(tinyLm());
    EXPECT_EQ(trace::CpuAllocator::current(), before);
}

TEST_F(EnginePoint, RefusesAGpuThatIsNotThere)
{
    ExperimentSpec spec = smallAttention();
    spec.device = {DeviceRequest::Kind::Cuda, 99};
    EXPECT_EQ(run(spec).status, RunStatus::Error);
    EXPECT_THROW(engine_.resolveDevice(spec.device), Error);
}

TEST(SmallKernelSet, IsAFlagOfOurBackendsOnAGpuThatLackKernels)
{
    const auto all = [] { return true; };
    const auto some = [] { return false; };
    EXPECT_TRUE(lacksKernels(Backend::Flash, true, some));
    EXPECT_FALSE(lacksKernels(Backend::Flash, true, all));
    EXPECT_FALSE(lacksKernels(Backend::Flash, false, some));
    EXPECT_FALSE(lacksKernels(Backend::Naive, true, some));
}

TEST_F(EnginePoint, OnAGpuIsFlaggedForASmallKernelSetAndNoOther)
{
    if (!at::hasCUDA() || (kKernelSet != "small" && kKernelSet != "all"))
        GTEST_SKIP() << "needs a GPU, and the kernel set small or all";
    ExperimentSpec spec = smallAttention();
    spec.device = {.kind = DeviceRequest::Kind::Cuda};
    spec.backend = Backend::Flash;
    spec.precision = Precision::Bf16;
    const RunResult result = run(spec);
    EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
    const std::string flag = flagText(FlagKind::SmallKernelSet);
    if (kKernelSet == "small") {
        EXPECT_THAT(result.flags, Contains(flag));
    } else {
        EXPECT_THAT(result.flags, Not(Contains(flag)));
    }
}

} // namespace
} // namespace tilescope::engine
