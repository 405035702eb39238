// The lm's mode generate against a forward pass in fp64 over the whole sequence, and its measurement.
#include "core/engine/common/autocast.h"
#include "core/engine/lm/fused_generation_ops.h"
#include "core/engine/lm/generation_check.h"
#include "core/engine/lm/generation_ops.h"
#include "core/engine/lm/token_sampler.h"
#include "core/model/generation.h"
#include "core/model/text.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace tilescope::engine {
namespace {

using at::Tensor;
using test::Recorder;

ExperimentSpec tinyGeneration()
{
    at::set_num_threads(1); // more only spin against each other on work this small
    ExperimentSpec spec = test::tinyLm();
    spec.mode = Mode::Generate;
    spec.context = 11;
    spec.newTokens = spec.steps = 6;
    return spec;
}

std::string describe(const ExperimentSpec& spec)
{
    return toText(spec.compile) + ", " + std::string(wordOf(spec.backend)) + ", " +
           std::string(wordOf(spec.precision)) + ", weights " + std::string(wordOf(spec.weights)) +
           ", cache " + std::string(wordOf(spec.cache)) + " with pages of " + std::to_string(spec.page) +
           ", batch " + std::to_string(spec.batch) + ", context " + std::to_string(spec.context) +
           ", new tokens " + std::to_string(spec.newTokens) + ", d_model " + std::to_string(spec.dModel) +
           ", heads " + std::to_string(spec.heads) + ", kv_heads " + std::to_string(spec.kvHeads) +
           ", layers " + std::to_string(spec.layers) + ", vocab " + std::to_string(spec.vocab);
}

Tensor promptsOf(const ExperimentSpec& spec)
{
    at::manual_seed(static_cast<std::uint64_t>(spec.seed) + 5);
    return at::randint(spec.vocab, {spec.batch, spec.context}, at::dtype(at::kLong));
}

/// The prompts with the tokens that the reference chooses, greedily.
struct Reference {
    Tensor sequences; ///< (batch, context + new_tokens)
    Tensor logits;    ///< (batch, new_tokens, vocab): of the positions from the prompts' last on
};

Reference makeReference(const ExperimentSpec& spec)
{
    Reference reference{.sequences = promptsOf(spec), .logits = {}};
    for (std::int64_t i = 0; i < spec.newTokens; ++i) {
        const Tensor logits = referenceLogits(spec, reference.sequences);
        reference.sequences = at::cat({reference.sequences, logits.select(1, -1).argmax(-1, true)}, 1);
        if (i + 1 == spec.newTokens)
            reference.logits = logits.narrow(1, spec.context - 1, spec.newTokens);
    }
    return reference;
}

const Tensor& tensorOf(const Tensor& value)
{
    return value;
}

const Tensor& tensorOf(const GenerationValue& value)
{
    return value.tensor();
}

template <class Ops> Tensor logitsWith(const ExperimentSpec& spec, const Tensor& sequences)
{
    const at::NoGradGuard noGrad;
    tilescope::LanguageModel<Ops> model(spec, Ops(spec, at::dtype(inputDtype(spec.precision))));
    std::vector<Tensor> logits;
    model.ops().setPositions(0, spec.context);
    logits.push_back(tensorOf(model.forward(sequences.narrow(1, 0, spec.context).reshape({-1}))));
    for (std::int64_t i = spec.context; i + 1 < spec.context + spec.newTokens; ++i) {
        model.ops().setPositions(i, 1);
        logits.push_back(tensorOf(model.forward(sequences.select(1, i).contiguous())));
    }
    return at::stack(logits, 1);
}

/// The logits (batch, new_tokens, vocab) of a generation, with the tokens of `sequences` in place of its own.
Tensor forcedLogits(const ExperimentSpec& spec, const Tensor& sequences)
{
    return spec.compile.kind == CompileRequest::Kind::Fused ? logitsWith<FusedGenerationOps>(spec, sequences)
                                                            : logitsWith<GenerationOps>(spec, sequences);
}

/// What rounding in the spec's precision does to logits: twice the error of the same model without a cache, with naive
/// attention and all positions at once, and twice the distance of neighbouring numbers.
double boundOf(const ExperimentSpec& spec, const Reference& reference)
{
    const at::NoGradGuard noGrad;
    ExperimentSpec whole = spec;
    whole.context = spec.context + spec.newTokens - 1;
    whole.newTokens = 1;
    whole.backend = Backend::Naive;
    whole.cache = CacheKind::Contiguous;
    whole.compile = {};
    GenerationOps ops(whole, at::dtype(inputDtype(spec.precision)));
    ops.keepAllRows();
    ops.setPositions(0, whole.context);
    GenerationModel model(whole, std::move(ops));
    const Tensor logits = model.forward(reference.sequences.narrow(1, 0, whole.context).reshape({-1}))
                              .view({spec.batch, whole.context, spec.vocab})
                              .narrow(1, spec.context - 1, spec.newTokens);
    const double error = at::sub(logits.to(at::kDouble), reference.logits).abs().max().item<double>();
    const double largest = reference.logits.abs().max().item<double>();
    const double unit = spec.precision == Precision::Fp32 ? 0x1p-23 : 0x1p-7;
    return 2 * error + 2 * unit * largest;
}

/// Checks a generation whose tokens are those of the reference.
void expectCorrect(const ExperimentSpec& spec)
{
    SCOPED_TRACE(describe(spec));
    const Reference reference = makeReference(spec);
    const double bound = boundOf(spec, reference);
    const Tensor logits = forcedLogits(spec, reference.sequences).to(at::kDouble);
    ASSERT_EQ(logits.sizes(), reference.logits.sizes());
    const Tensor differences = at::sub(logits, reference.logits).abs();
    EXPECT_LE(differences.max().item<double>(), bound);

    const auto [values, indices] = at::topk(reference.logits, 2, -1);
    const Tensor isClear = at::gt(values.select(-1, 0) - values.select(-1, 1), 2 * bound);
    const Tensor differs = at::ne(logits.argmax(-1), indices.select(-1, 0));
    EXPECT_EQ(at::logical_and(isClear, differs).sum().item<std::int64_t>(), 0);
}

ExperimentSpec paged(ExperimentSpec spec, std::int64_t page)
{
    spec.cache = CacheKind::Paged;
    spec.page = page;
    return spec;
}

/// A contiguous cache and pages of several sizes give the same bits.
void expectSameBitsPaged(const ExperimentSpec& spec)
{
    SCOPED_TRACE(describe(spec));
    at::manual_seed(9);
    const Tensor sequences = at::cat(
        {promptsOf(spec), at::randint(spec.vocab, {spec.batch, spec.newTokens}, at::dtype(at::kLong))}, 1);
    const Tensor contiguous = forcedLogits(spec, sequences);
    for (const std::int64_t page :
         {std::int64_t{1}, std::int64_t{3}, spec.page, spec.context + spec.newTokens + 5})
        EXPECT_TRUE(at::equal(contiguous, forcedLogits(paged(spec, page), sequences))) << "pages of " << page;
}

struct Way {
    Backend backend;
    CompileRequest::Kind compile = CompileRequest::Kind::None;
};

class GenerationBackends : public ::testing::TestWithParam<std::tuple<Way, Precision>> {
protected:
    static ExperimentSpec spec()
    {
        ExperimentSpec spec = tinyGeneration();
        spec.backend = std::get<0>(GetParam()).backend;
        spec.compile.kind = std::get<0>(GetParam()).compile;
        spec.precision = std::get<1>(GetParam());
        return spec;
    }
};

TEST_P(GenerationBackends, LogitsAndTokensAreThoseOfAForwardPassInFp64)
{
    for (const std::int64_t batch : {1, 3})
        for (const std::int64_t context : {1, 8, 40})
            for (const std::int64_t kvHeads : {4, 2, 1}) {
                ExperimentSpec at = spec();
                at.batch = batch;
                at.context = context;
                at.kvHeads = kvHeads;
                expectCorrect(at);
                expectCorrect(paged(at, 5));
            }
}

TEST_P(GenerationBackends, PagesGiveTheBitsOfAContiguousCache)
{
    for (const std::int64_t batch : {1, 3})
        for (const std::int64_t kvHeads : {4, 2}) {
            ExperimentSpec at = spec();
            at.batch = batch;
            at.kvHeads = kvHeads;
            at.context = 37;
            expectSameBitsPaged(at);
        }
}

INSTANTIATE_TEST_SUITE_P(
    All, GenerationBackends,
    ::testing::Combine(::testing::Values(Way{Backend::Naive}, Way{Backend::Sdpa}, Way{Backend::Flash},
                                         Way{Backend::Flash, CompileRequest::Kind::Fused}),
                       ::testing::Values(Precision::Fp32, Precision::Bf16)),
    [](const auto& info) {
        const Way& way = std::get<0>(info.param);
        return std::string(way.compile == CompileRequest::Kind::Fused ? "fused" : wordOf(way.backend)) + "_" +
               std::string(wordOf(std::get<1>(info.param)));
    });

TEST(Generation, WeightsInFp8AreThoseOfTheReference)
{
    ExperimentSpec spec = tinyGeneration();
    spec.precision = Precision::Bf16;
    spec.weights = WeightFormat::Fp8;
    expectCorrect(spec);
    spec.kvHeads = 2;
    expectCorrect(paged(spec, 4));
    ExperimentSpec fused = spec;
    fused.backend = Backend::Flash;
    fused.compile.kind = CompileRequest::Kind::Fused;
    expectCorrect(fused);
    // And not those of bf16.
    ExperimentSpec plain = spec;
    plain.weights = WeightFormat::AsPrecision;
    const Tensor prompts = promptsOf(spec);
    EXPECT_FALSE(at::allclose(referenceLogits(spec, prompts), referenceLogits(plain, prompts), 1e-3, 1e-3));
}

/// A number from the environment, with which tests/stress/generation/run draws more shapes.
std::uint64_t stressNumber(const char* variable, std::uint64_t otherwise)
{
    const char* text = std::getenv(variable);
    return text != nullptr ? std::stoull(text) : otherwise;
}

TEST(Generation, AnyShapeIsCorrect)
{
    const std::uint64_t shapes = stressNumber("TILESCOPE_STRESS_POINTS", 12);
    std::mt19937_64 random(stressNumber("TILESCOPE_STRESS_SEED", 20261130));
    const auto draw = [&random](std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    for (std::uint64_t i = 0; i < shapes; ++i) {
        ExperimentSpec spec = tinyGeneration();
        spec.seed = draw(0, 1'000'000);
        spec.backend =
            std::array{Backend::Naive, Backend::Sdpa, Backend::Flash}[static_cast<std::size_t>(draw(0, 2))];
        spec.precision = draw(0, 1) == 0 ? Precision::Fp32 : Precision::Bf16;
        if (spec.backend == Backend::Flash && draw(0, 1) == 0)
            spec.compile.kind = CompileRequest::Kind::Fused;
        if (spec.precision == Precision::Bf16 && draw(0, 2) == 0)
            spec.weights = WeightFormat::Fp8;
        spec.batch = draw(1, 5);
        spec.context = draw(1, 70);
        spec.newTokens = spec.steps = static_cast<int>(draw(1, 9));
        spec.kvHeads = draw(1, 4);
        spec.heads = spec.kvHeads * draw(1, 4);
        spec.dModel = spec.heads * 2 * draw(1, 20);
        spec.dFf = draw(1, 80);
        spec.layers = draw(1, 3);
        spec.vocab = draw(2, 300);
        spec.page = draw(1, 40);
        spec.cache = draw(0, 1) == 0 ? CacheKind::Contiguous : CacheKind::Paged;
        expectCorrect(spec);
        expectSameBitsPaged(spec);
    }
}

TEST(Generation, SeededSamplingDrawsFromTheProbabilities)
{
    ExperimentSpec spec = tinyGeneration();
    spec.batch = 20'000;
    spec.vocab = 4;
    spec.sampling = Sampling::Seeded;
    TokenSampler sampler(spec, at::kCPU);
    const Tensor logits = at::tensor({0.5F, 0.125F, 0.25F, 0.125F}).log().expand({spec.batch, 4});
    Tensor next = at::empty({spec.batch}, at::kLong);
    sampler.draw();
    sampler.choose(logits, next);
    const Tensor shares = at::bincount(next, {}, 4).to(at::kDouble).div(static_cast<double>(spec.batch));
    // Five standard deviations of a share of a half.
    EXPECT_LE(at::sub(shares, at::tensor({0.5, 0.125, 0.25, 0.125}, at::kDouble)).abs().max().item<double>(),
              5 * 0.5 / std::sqrt(20'000.0));
    // The next draws are others; those after a restart the same.
    Tensor second = at::empty_like(next);
    sampler.draw();
    sampler.choose(logits, second);
    EXPECT_FALSE(at::equal(next, second));
    sampler.restart();
    sampler.draw();
    sampler.choose(logits, second);
    EXPECT_TRUE(at::equal(next, second));
}

TEST(Generation, TheFirstStepProcessesThePromptAndEachOtherOneToken)
{
    ExperimentSpec spec = tinyGeneration();
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    for (const auto& [kind, generations] :
         {std::pair(SampleKind::Warmup, spec.warmup), std::pair(SampleKind::Measure, 1),
          std::pair(SampleKind::Trace, spec.traceSteps)}) {
        const auto count = [&](Phase phase) { return recorder.count(kind, phase); };
        EXPECT_EQ(count(Phase::Prefill), generations);
        EXPECT_EQ(count(Phase::Sample), generations * spec.newTokens);
        EXPECT_EQ(count(Phase::Decode), generations * (spec.newTokens - 1));
        EXPECT_EQ(count(Phase::Step),
                  generations * (spec.newTokens - 1)); // the first token is no typical step
        EXPECT_EQ(count(Phase::Forward), 0);
    }
    for (const Sample& sample : recorder.samples)
        EXPECT_EQ(sample.phase == Phase::Prefill && sample.step % spec.newTokens != 0, false) << sample.step;
}

TEST(Generation, APointCanHaveOneNewToken)
{
    ExperimentSpec spec = tinyGeneration();
    spec.newTokens = spec.steps = 1;
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    EXPECT_EQ(recorder.count(SampleKind::Measure, Phase::Prefill), 1);
    EXPECT_EQ(recorder.count(SampleKind::Measure, Phase::Step), 0);
}

TEST(Generation, ShapesOfEachTokenAreRecorded)
{
    ExperimentSpec spec = tinyGeneration();
    spec.shapes = true;
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
    for (const std::string& flag : result.flags)
        EXPECT_EQ(flag.find("shapes"), std::string::npos) << flag;
    std::int64_t products = 0;
    std::int64_t ofOneRow = 0;
    for (const TraceBatch& batch : recorder.batches)
        for (const Op& op : batch.ops)
            if (strings.text(op.name) == "aten::mm") {
                ++products;
                ofOneRow += strings.text(op.shapes).find("[2, 32]") != std::string::npos ? 1 : 0;
            }
    // Three products per layer and the head; batch 2. The prompt has more rows, apart from its head.
    EXPECT_EQ(products, spec.traceSteps * spec.newTokens * (2 * spec.layers + 1));
    EXPECT_EQ(ofOneRow, spec.traceSteps * ((spec.newTokens - 1) * (2 * spec.layers + 1) + 1));
}

TEST(Generation, CheckComparesLogitsWithTheReference)
{
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
        ExperimentSpec spec = tinyGeneration();
        spec.precision = precision;
        spec.check = true;
        spec.trace = TraceLevel::Off;
        StringTable strings;
        Engine engine(strings);
        Recorder recorder;
        const RunResult result = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(result.status, RunStatus::Ok) << result.reason;
        const auto valueOf = [&](const std::string& key) {
            for (const EnvironmentEntry& fact : recorder.facts)
                if (fact.key == key)
                    return fact.value;
            return std::string("missing");
        };
        EXPECT_EQ(valueOf("result.logits.wrong_tokens"), "0");
        const double error = std::stod(valueOf("result.logits.relative_error"));
        EXPECT_GT(error, 0);
        EXPECT_LT(error, precision == Precision::Fp32 ? 1e-5 : 0.1);
    }
}

} // namespace
} // namespace tilescope::engine
