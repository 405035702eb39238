#include "core/base/error.h"
#include "core/engine/common/autocast.h"
#include "core/engine/lm/adamw.h"
#include "core/engine/lm/fused_adamw.h"
#include "core/engine/lm/fused_ops.h"
#include "core/engine/lm/lm.h"
#include "core/engine/run/engine.h"
#include "core/model/fused_update.h"
#include "core/model/text.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <set>

namespace tilescope::engine {
namespace {

using at::Tensor;
using FusedModel = tilescope::LanguageModel<FusedOps>;

ExperimentSpec fusedSpec()
{
    ExperimentSpec spec = test::tinyLm();
    spec.backend = Backend::Flash;
    spec.layers = 3;
    return spec;
}

/// Tokens and targets of a step.
struct Batch {
    explicit Batch(const ExperimentSpec& spec)
    {
        at::manual_seed(4);
        tokens = at::randint(spec.vocab, {spec.batch * spec.context}, at::dtype(at::kLong));
        targets = at::randint(spec.vocab, {spec.batch * spec.context}, at::dtype(at::kLong));
    }
    Tensor tokens;
    Tensor targets;
};

struct Gradients {
    Tensor loss;
    Tensor logits;
    std::vector<Tensor> ofParameters;
};

FusedModel fusedModel(const ExperimentSpec& spec, at::ScalarType elements, bool trains = false)
{
    at::manual_seed(3);
    return FusedModel(spec, FusedOps(spec, {.elements = elements, .trains = trains}));
}

LanguageModel eagerModel(const ExperimentSpec& spec, at::ScalarType type, at::ScalarType attention)
{
    at::manual_seed(3);
    return LanguageModel(spec, EagerOps(spec, at::dtype(type), attentionOf(spec), attention));
}

FusedOps::Tensor valueOf(const Tensor& data)
{
    return FusedOps::valueOf(data);
}

// Cross entropy by LibTorch, so that only the model is compared.
Gradients fusedGradients(FusedModel& model, const Batch& batch)
{
    const FusedOps::Tensor logits = model.forward(valueOf(batch.tokens));
    Gradients result;
    result.logits = logits->data.clone();
    const Tensor leaf = result.logits.to(at::kDouble).requires_grad_(true);
    const Tensor loss = at::cross_entropy_loss(leaf, batch.targets);
    torch::autograd::backward({loss});
    result.loss = loss.detach();
    for (const FusedOps::Tensor& parameter : model.parameters())
        parameter->grad.reset();
    logits->grad = leaf.grad().to(logits->data.scalar_type());
    model.ops().backward();
    for (const FusedOps::Tensor& parameter : model.parameters())
        result.ofParameters.push_back(parameter->grad);
    return result;
}

Gradients eagerGradients(LanguageModel& model, const Batch& batch,
                         std::optional<at::ScalarType> autocast = std::nullopt)
{
    Gradients result;
    Tensor loss;
    {
        const AutocastScope scope(at::kCPU, autocast);
        result.logits = model.forward(batch.tokens);
        loss = at::cross_entropy_loss(result.logits.to(at::kDouble), batch.targets);
    }
    torch::autograd::backward({loss});
    result.loss = loss.detach();
    for (const Tensor& parameter : model.parameters())
        result.ofParameters.push_back(parameter.grad());
    return result;
}

double errorOf(const Tensor& x, const Tensor& exact)
{
    return (x.to(at::kDouble) - exact.to(at::kDouble)).abs().max().item<double>();
}

TEST(FusedLm, HasTheWeightsLogitsAndGradientsOfTheEagerModelInFp64)
{
    const ExperimentSpec spec = fusedSpec();
    const Batch batch(spec);
    FusedModel fused = fusedModel(spec, at::kDouble);
    LanguageModel eager = eagerModel(spec, at::kDouble, at::kDouble);
    ASSERT_EQ(fused.parameterNames(), eager.parameterNames());
    for (std::size_t i = 0; i < eager.parameters().size(); ++i) {
        EXPECT_TRUE(at::equal(fused.parameters()[i]->data, eager.parameters()[i].detach()));
        EXPECT_EQ(fused.parameters()[i]->data.strides(), eager.parameters()[i].strides());
    }

    const Gradients ours = fusedGradients(fused, batch);
    const Gradients theirs = eagerGradients(eager, batch);
    EXPECT_LE(errorOf(ours.logits, theirs.logits), 1e-11);
    for (std::size_t i = 0; i < theirs.ofParameters.size(); ++i) {
        EXPECT_GT(theirs.ofParameters[i].abs().max().item<double>(), 0);
        EXPECT_LE(errorOf(ours.ofParameters[i], theirs.ofParameters[i]), 1e-11) << fused.parameterNames()[i];
        EXPECT_EQ(ours.ofParameters[i].strides(), fused.parameters()[i]->data.strides());
    }
}

TEST(FusedLm, ComputesTheLossAndItsGradientsByChunksOfTokens)
{
    const ExperimentSpec spec = fusedSpec();
    const Batch batch(spec);
    LanguageModel eager = eagerModel(spec, at::kDouble, at::kDouble);
    const Gradients exact = eagerGradients(eager, batch);
    for (const std::int64_t rows : {0, 1, 5, 32}) {
        at::manual_seed(3);
        FusedModel model(spec, FusedOps(spec, {.elements = at::kDouble, .chunkRows = rows}));
        const FusedOps::Tensor logits = model.forward(valueOf(batch.tokens));
        EXPECT_EQ(logits->data.defined(), rows == 0);
        const Tensor loss = model.ops().crossEntropy(logits, batch.targets);
        model.ops().backward();
        EXPECT_LE(errorOf(loss, exact.loss), 1e-12);
        for (std::size_t i = 0; i < exact.ofParameters.size(); ++i)
            EXPECT_LE(errorOf(model.parameters()[i]->grad, exact.ofParameters[i]), 1e-12)
                << model.parameterNames()[i];
    }
}

TEST(FusedLm, GivesTheSameGradientsToTheBitWithCheckpointing)
{
    using Kind = Checkpointing::Kind;
    ExperimentSpec spec = fusedSpec();
    const Batch batch(spec);
    FusedModel plainModel = fusedModel(spec, at::kBFloat16);
    const Gradients plain = fusedGradients(plainModel, batch);
    for (const Checkpointing checkpointing :
         {Checkpointing{Kind::Block, 1}, Checkpointing{Kind::Block, 2}, Checkpointing{Kind::Block, 1, 1},
          Checkpointing{Kind::Block, 1, 2}, Checkpointing{Kind::Attention}}) {
        spec.checkpointing = checkpointing;
        FusedModel model = fusedModel(spec, at::kBFloat16);
        const Gradients again = fusedGradients(model, batch);
        EXPECT_TRUE(at::equal(again.logits, plain.logits));
        for (std::size_t i = 0; i < plain.ofParameters.size(); ++i)
            EXPECT_TRUE(at::equal(again.ofParameters[i], plain.ofParameters[i])) << "parameter " << i;
    }
}

TEST(FusedLm, IsAsExactInBf16AsAutocast)
{
    // The weights of both are rounded to bf16 and so are the operands of products; gradients of the fused model
    // are not rounded to bf16. A factor of 2, because single errors of equally accurate computations differ.
    const ExperimentSpec spec = fusedSpec();
    const Batch batch(spec);
    LanguageModel exactModel = eagerModel(spec, at::kDouble, at::kDouble);
    FusedModel fused = fusedModel(spec, at::kBFloat16, true);
    LanguageModel autocast = eagerModel(spec, at::kFloat, at::kBFloat16);
    {
        // The same weights everywhere: fp32 numbers are drawn differently from fp64 ones.
        const at::NoGradGuard noGrad;
        for (std::size_t i = 0; i < autocast.parameters().size(); ++i)
            exactModel.parameters()[i].copy_(autocast.parameters()[i]);
    }
    const Gradients exact = eagerGradients(exactModel, batch);
    const Gradients ours = fusedGradients(fused, batch);
    const Gradients theirs = eagerGradients(autocast, batch, at::kBFloat16);
    EXPECT_LE(errorOf(ours.logits, exact.logits), 2 * errorOf(theirs.logits, exact.logits));
    for (std::size_t i = 0; i < exact.ofParameters.size(); ++i)
        EXPECT_LE(errorOf(ours.ofParameters[i], exact.ofParameters[i]),
                  2 * errorOf(theirs.ofParameters[i], exact.ofParameters[i]))
            << fused.parameterNames()[i];
}

TEST(FusedLm, SplitsItsWeightsExactly)
{
    const ExperimentSpec spec = fusedSpec();
    const FusedModel fused = fusedModel(spec, at::kBFloat16, true);
    const LanguageModel eager = eagerModel(spec, at::kFloat, at::kFloat);
    std::size_t split = 0;
    for (std::size_t i = 0; i < eager.parameters().size(); ++i) {
        const FusedValue& parameter = *fused.parameters()[i];
        if (!parameter.remainder.defined()) {
            EXPECT_TRUE(at::equal(parameter.data, eager.parameters()[i].detach()));
            continue;
        }
        ++split;
        const Tensor upper = parameter.data.t().contiguous().view(at::kShort).to(at::kInt);
        const Tensor joined =
            (at::bitwise_left_shift(upper, 16) + parameter.remainder.to(at::kInt)).view(at::kFloat);
        EXPECT_TRUE(at::equal(joined, eager.parameters()[i].detach().t()));
    }
    EXPECT_EQ(split, static_cast<std::size_t>(4 * spec.layers + 1));
}

/// The weights after some steps of AdamW on the same gradients.
TEST(FusedLm, UpdatesFp32MastersAsTheOptimizerOfTheEagerModel)
{
    const ExperimentSpec spec = fusedSpec();
    FusedModel fused = fusedModel(spec, at::kBFloat16, true);
    LanguageModel eager = eagerModel(spec, at::kFloat, at::kFloat);
    FusedAdamW ours(fused.parameters(), fused.parameterNames());
    std::vector<NamedTensor> parameters;
    for (std::size_t i = 0; i < eager.parameters().size(); ++i)
        parameters.push_back({eager.parameterNames()[i], eager.parameters()[i]});
    AdamW theirs(parameters, at::kCPU, false);
    constexpr int kSteps = 20;
    for (int step = 0; step < kSteps; ++step) {
        at::manual_seed(static_cast<std::uint64_t>(step));
        for (std::size_t i = 0; i < eager.parameters().size(); ++i) {
            const Tensor gradient = at::randn_like(eager.parameters()[i].detach());
            eager.parameters()[i].mutable_grad() = gradient;
            fused.parameters()[i]->grad = gradient;
        }
        ours.begin();
        ours.updateAll();
        theirs.step();
    }
    for (std::size_t i = 0; i < eager.parameters().size(); ++i) {
        const FusedValue& parameter = *fused.parameters()[i];
        Tensor weight = parameter.data;
        if (parameter.remainder.defined()) {
            const Tensor upper = weight.t().contiguous().view(at::kShort).to(at::kInt);
            weight =
                (at::bitwise_left_shift(upper, 16) + parameter.remainder.to(at::kInt)).view(at::kFloat).t();
        }
        // Some ten fp32 roundings a step, of updates of 1e-3 and of weights up to 4.
        constexpr double kRounding = 1.2e-7;
        EXPECT_LE(errorOf(weight, eager.parameters()[i].detach()), kSteps * 4 * kRounding)
            << fused.parameterNames()[i];
    }
}

TEST(FusedLm, UpdatesWeightsWithTheirGradientsAsAfterThem)
{
    ExperimentSpec spec = fusedSpec();
    const Batch batch(spec);
    int updated = 0;
    const auto train = [&](bool isTogether) {
        FusedModel model = fusedModel(spec, at::kBFloat16, true);
        FusedAdamW optimizer(model.parameters(), model.parameterNames());
        model.ops().observeGradients([&](const FusedOps::Tensor& weight) { optimizer.update(weight); });
        if (isTogether)
            model.ops().updateWithGradients(
                [&](const FusedOps::Tensor& weight, const Tensor& gradient, const Tensor& x) {
                    optimizer.updateWithGradient(weight, gradient, x);
                });
        for (int step = 0; step < 5; ++step) {
            const FusedOps::Tensor logits = model.forward(valueOf(batch.tokens));
            model.ops().crossEntropy(logits, batch.targets);
            optimizer.begin();
            model.ops().backward();
            for (const FusedOps::Tensor& parameter : model.parameters()) {
                const bool isUpdated =
                    isTogether && parameter->remainder.defined() &&
                    canUpdateWithGradient(parameter->data.size(0), parameter->data.size(1));
                EXPECT_EQ(parameter->grad.defined(), !isUpdated);
                updated += isUpdated ? 1 : 0;
                parameter->grad.reset();
            }
        }
        std::vector<Tensor> weights;
        for (const FusedOps::Tensor& parameter : model.parameters())
            weights.push_back(parameter->data);
        return weights;
    };
    for (const Checkpointing checkpointing :
         {Checkpointing{}, Checkpointing{Checkpointing::Kind::Block, 1}}) {
        spec.checkpointing = checkpointing;
        const std::vector<Tensor> after = train(false);
        const std::vector<Tensor> together = train(true);
        for (std::size_t i = 0; i < after.size(); ++i)
            EXPECT_TRUE(at::equal(together[i], after[i])) << "parameter " << i;
    }
    EXPECT_GE(updated, 2 * 5 * 4 * spec.layers); // twice five steps
}

class FusedPoint : public ::testing::Test {
protected:
    FusedPoint()
    {
        spec_.compile.kind = CompileRequest::Kind::Fused;
        spec_.mode = Mode::Train;
        spec_.loss = LossKind::CrossEntropy;
        spec_.precision = Precision::Bf16;
    }

    RunResult run() { return engine_.runPoint(spec_, recorder_, {}); }

    StringTable strings_;
    Engine engine_{strings_};
    test::Recorder recorder_;
    ExperimentSpec spec_ = fusedSpec();
};

TEST_F(FusedPoint, OpensTheRangesOfTheModulesInForwardAndBackward)
{
    const RunResult result = run();
    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    std::multiset<std::string> paths;
    for (const TraceBatch& batch : recorder_.batches)
        for (const Range& range : batch.ranges)
            paths.emplace(strings_.text(range.path));
    for (const char* phase : {"forward", "backward"})
        for (const char* module : {"embedding", "layers.1/attention_norm", "layers.1/attention",
                                   "layers.0/ffn_norm", "layers.2/ffn", "norm", "lm_head"}) {
            const std::string path = std::string("step/") + phase + "/" + module;
            EXPECT_EQ(paths.count(path), static_cast<std::size_t>(spec_.traceSteps)) << path;
        }
    EXPECT_EQ(paths.count("step/optimizer"), static_cast<std::size_t>(spec_.traceSteps));
}

TEST_F(FusedPoint, CountsTheParametersOfTheEagerModel)
{
    const auto fused = run().parameters;
    spec_.compile = {};
    EXPECT_EQ(fused, run().parameters);
}

TEST_F(FusedPoint, KnowsWhatItsMemoryHolds)
{
    ASSERT_EQ(run().status, RunStatus::Ok);
    std::map<MemoryCategory, std::int64_t> held;
    std::set<std::string> savedBy;
    for (const MemoryFacts& facts : recorder_.memory) {
        for (const MemoryBlock& block : facts.blocks)
            held[block.category] += block.bytes;
        for (const SavedTensor& saved : facts.saved)
            savedBy.insert(saved.path + " " + saved.op);
    }
    const std::int64_t parameters = 2LL * 100 * 32 + 3LL * (4 * 32 * 32 + 3 * 32 * 64 + 2 * 32) + 32;
    // 4 bytes each, as fp32 or bf16 with a remainder; two moments in fp32 and the count of steps.
    EXPECT_EQ(held[MemoryCategory::Parameters], 4 * parameters);
    EXPECT_EQ(held[MemoryCategory::Optimizer], 8 * parameters + 4);
    EXPECT_THAT(savedBy, ::testing::IsSupersetOf({"step/forward/layers.0/ffn tilescope::swiglu",
                                                  "step/forward/layers.2/attention tilescope::attention",
                                                  "step/forward/layers.1/ffn_norm tilescope::add_rms_norm",
                                                  "step/forward/lm_head aten::mm"}));
}

TEST_F(FusedPoint, RunsAttentionForwardOnceInBlocksThatAreComputedAgain)
{
    for (const Checkpointing checkpointing :
         {Checkpointing{}, Checkpointing{Checkpointing::Kind::Block, 1},
          Checkpointing{Checkpointing::Kind::Block, 2}, Checkpointing{Checkpointing::Kind::Block, 1, 2},
          Checkpointing{Checkpointing::Kind::Attention}}) {
        spec_.checkpointing = checkpointing;
        recorder_ = {};
        ASSERT_EQ(run().status, RunStatus::Ok);
        std::map<std::string, std::int64_t> calls;
        for (const TraceBatch& batch : recorder_.batches)
            for (const Op& op : batch.ops)
                ++calls[std::string(strings_.text(op.name))];
        const bool again = checkpointing.kind == Checkpointing::Kind::Attention;
        EXPECT_EQ(calls["tilescope::attention_forward"], spec_.traceSteps * spec_.layers * (again ? 2 : 1))
            << toText(checkpointing);
    }
}

// The last segment, with which backward begins, or the blocks that are kept, but for one product, and the last product of
// the other segments.
TEST_F(FusedPoint, LeavesOutTheProductsThatBackwardDoesNotNeedAgain)
{
    ASSERT_EQ(spec_.layers, 3);
    using Kind = Checkpointing::Kind;
    const auto products = [this](Checkpointing checkpointing) {
        spec_.checkpointing = checkpointing;
        recorder_ = {};
        EXPECT_EQ(run().status, RunStatus::Ok);
        std::int64_t count = 0;
        for (const TraceBatch& batch : recorder_.batches)
            count += std::ranges::count_if(
                batch.ops, [this](const Op& op) { return strings_.text(op.name) == "aten::mm"; });
        return count;
    };
    const std::int64_t once = products({});
    EXPECT_EQ(products({Kind::Block, 1}) - once, spec_.traceSteps * (2 * 3 + 1));
    EXPECT_EQ(products({Kind::Block, 2}) - once, spec_.traceSteps * (2 * 4 - 1 + 1));
    EXPECT_EQ(products({Kind::Block, 3}) - once, spec_.traceSteps * 3);
    EXPECT_EQ(products({Kind::Block, 1, 1}) - once, spec_.traceSteps * (2 * 3 + 1));
    EXPECT_EQ(products({Kind::Block, 1, 2}) - once, spec_.traceSteps * (3 + 2));
    EXPECT_EQ(products({Kind::Block, 2, 1}) - once, spec_.traceSteps * (2 * 4 - 1 + 1));
}

TEST_F(FusedPoint, HoldsMoreBeforeBackwardTheMoreBlocksItKeeps)
{
    std::vector<std::int64_t> held;
    for (const Checkpointing checkpointing :
         {Checkpointing{Checkpointing::Kind::Block, 1, 1}, Checkpointing{Checkpointing::Kind::Block, 1, 2},
          Checkpointing{}}) {
        spec_.checkpointing = checkpointing;
        const RunResult result = run();
        ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
        held.push_back(result.beforeBackward->count);
    }
    EXPECT_LT(held[0], held[1]);
    EXPECT_LT(held[1], held[2]);
}

TEST_F(FusedPoint, LearnsAsTheEagerModelOverTheSameTokens)
{
    // Both compute in bf16 on the same tokens and weights: after 60 steps their losses differ from the loss in
    // fp32 by about the same.
    spec_.steps = 60;
    spec_.trace = TraceLevel::Off;
    const double fused = run().finalLoss().value();
    spec_.compile = {};
    const double autocast = run().finalLoss().value();
    spec_.precision = Precision::Fp32;
    const double exact = run().finalLoss().value();
    constexpr double kFloor = 0.02; // of a loss of 5: the spread of bf16 runs with other roundings
    EXPECT_LE(std::abs(fused - exact), 2 * std::abs(autocast - exact) + kFloor)
        << fused << " " << autocast << " " << exact;
}

TEST_F(FusedPoint, RunsEveryModeAndPrecision)
{
    spec_.trace = TraceLevel::Off;
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
        for (const Mode mode : {Mode::Forward, Mode::Backward, Mode::Both, Mode::Train})
            for (const LossKind loss : {LossKind::Sum, LossKind::CrossEntropy}) {
                spec_.precision = precision;
                spec_.mode = mode;
                spec_.loss = loss;
                EXPECT_EQ(run().status, RunStatus::Ok);
            }
}

TEST_F(FusedPoint, TimesWholeStepsAndTheirPhases)
{
    spec_.timing = StepTiming::Step;
    ASSERT_EQ(run().status, RunStatus::Ok);
    for (const Phase phase : {Phase::Step, Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer})
        EXPECT_EQ(recorder_.count(SampleKind::Measure, phase), spec_.steps);
}

TEST_F(FusedPoint, LearnsTheSameIfAdamWRunsDuringBackward)
{
    spec_.trace = TraceLevel::Off;
    const auto after = run().finalLoss();
    spec_.timing = StepTiming::Step;
    EXPECT_EQ(run().finalLoss(), after);
}

TEST_F(FusedPoint, LearnsOnAGpuAsTheEagerModel)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    // Graphs, side streams and updates during backward.
    constexpr double kTolerance = 0.02; // of a loss of 5: the spread of bf16 runs with other roundings
    spec_.device = {DeviceRequest::Kind::Cuda};
    spec_.trace = TraceLevel::Off;
    spec_.steps = 20;
    spec_.compile = {};
    spec_.warmup = 2; // as many steps as a capture takes
    const double expected = run().finalLoss().value();
    spec_.compile.kind = CompileRequest::Kind::Fused;
    spec_.warmup = 0;
    for (const StepTiming timing : {StepTiming::Phase, StepTiming::Step}) {
        spec_.timing = timing;
        const RunResult result = run();
        ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
        EXPECT_NEAR(result.finalLoss().value(), expected, kTolerance);
    }
}

TEST_F(FusedPoint, IsTracedOnAGpuFromOneGraphOfTheStep)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    spec_.device = {DeviceRequest::Kind::Cuda};
    spec_.timing = StepTiming::Step;
    const RunResult result = run();
    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    std::set<std::string> paths;
    for (const TraceBatch& batch : recorder_.batches)
        for (const DeviceEvent& event : batch.deviceEvents)
            paths.emplace(strings_.text(event.path));
    for (const char* path : {"step/forward/layers.1/ffn", "step/loss", "step/backward/layers.0/attention"})
        EXPECT_THAT(paths, ::testing::Contains(path));
    for (const Phase phase : {Phase::Step, Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer})
        EXPECT_EQ(recorder_.count(SampleKind::Measure, phase), spec_.steps);
}

} // namespace
} // namespace tilescope::engine
