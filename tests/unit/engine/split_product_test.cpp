#include "core/engine/lm/lm.h"
#include "core/engine/lm/split_product.h"
#include "core/engine/run/engine.h"
#include "tests/unit/engine/fixtures.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <cmath>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr double kUnitRoundoff = 0x1p-24;

Tensor split(const Tensor& x, std::int64_t copies, bool left, bool below)
{
    return c10::Dispatcher::singleton()
        .findSchemaOrThrow("tilescope::split_bf16", "")
        .typed<Tensor(const Tensor&, std::int64_t, bool, bool)>()
        .call(x, copies, left, below);
}

/// Values of many magnitudes.
Tensor spread(at::IntArrayRef sizes)
{
    return at::randn(sizes) * at::pow(2.0, at::randint(-20, 20, sizes, at::dtype(at::kFloat)));
}

/// The worst case of the error of `inner` products in six parts each: (6 inner - 1) u for the sums in fp32, and little more
/// than 2 u for the three products of parts that are left out (2^-8 2^-16 twice, and 2^-16 2^-16).
Tensor errorBound(const Tensor& a, const Tensor& b)
{
    const auto inner = static_cast<double>(a.size(1));
    return at::mm(a.to(at::kDouble).abs(), b.to(at::kDouble).abs()) * ((6 * inner + 2) * kUnitRoundoff);
}

bool isWithin(const Tensor& product, const Tensor& a, const Tensor& b)
{
    const Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
    return ((product.to(at::kDouble) - exact).abs() <= errorBound(a, b)).all().item<bool>();
}

TEST(SplitBf16, GivesThreePartsWhoseSumIsTheValue)
{
    at::manual_seed(1);
    const Tensor x = spread({5, 24});
    const Tensor beside = split(x, 3, false, false).to(at::kDouble);
    const Tensor below = split(x, 3, false, true).to(at::kDouble);
    EXPECT_TRUE(at::equal(beside.view({5, 3, 24}).sum(1), x.to(at::kDouble)));
    EXPECT_TRUE(at::equal(below.view({3, 5, 24}).sum(0), x.to(at::kDouble)));
    EXPECT_TRUE(at::equal(beside.narrow(1, 0, 24), x.to(at::kBFloat16).to(at::kDouble)));
}

TEST(SplitBf16, PairsTheSixLargestProductsTheSmallestFirst)
{
    at::manual_seed(1);
    const Tensor x = at::rand({1, 1}) + 1;
    const auto parts = [&](std::int64_t copies, bool left) { return split(x, copies, left, false); };
    const Tensor order = parts(3, false)[0];
    const auto isPart = [&](const Tensor& all, std::vector<std::int64_t> expected) {
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_TRUE(at::equal(all[0][static_cast<std::int64_t>(i)], order[expected[i]])) << i;
    };
    isPart(parts(3, true), {2, 1, 0});
    isPart(parts(6, false), {0, 1, 2, 0, 1, 0});
    isPart(parts(6, true), {2, 1, 0, 1, 0, 0});
}

TEST(SplitBf16, RefusesOtherTensorsAndNumbersOfCopies)
{
    EXPECT_ANY_THROW(split(at::zeros({2, 2}, at::dtype(at::kDouble)), 3, true, true));
    EXPECT_ANY_THROW(split(at::zeros({2, 2}).t().narrow(0, 0, 1), 3, true, true));
    EXPECT_ANY_THROW(split(at::zeros({2, 2}), 4, true, true));
    EXPECT_EQ(split(at::zeros({0, 2}), 3, true, true).numel(), 0);
}

TEST(SplitMm, IsAsExactAsFp32InEveryLayout)
{
    at::manual_seed(2);
    const Tensor a = spread({7, 9});
    const Tensor b = spread({9, 5});
    const Tensor aTransposed = a.t().contiguous().t();
    const Tensor bTransposed = b.t().contiguous().t();
    const Tensor aStrided = at::zeros({7, 18}).narrow(1, 3, 9).copy_(a);
    for (const Tensor& left : {a, aTransposed, aStrided})
        for (const Tensor& right : {b, bTransposed})
            EXPECT_TRUE(isWithin(splitMm(left, right), a, b));
    // The bound is not met by products that leave out a part.
    const Tensor twoParts =
        a.to(at::kBFloat16).to(at::kFloat) + (a - a.to(at::kBFloat16).to(at::kFloat)).to(at::kBFloat16);
    EXPECT_FALSE(isWithin(at::mm(twoParts.to(at::kDouble), b.to(at::kDouble)), a, b));
}

// Long sums with a small result take three products, short ones with a large result one.
TEST(SplitMm, SetsOrAddsWithEitherNumberOfCopies)
{
    at::manual_seed(3);
    for (const std::int64_t inner : {2, 200}) {
        const Tensor a = at::randn({6, inner});
        const Tensor b = at::randn({inner, 6});
        Tensor target = at::full({6, 6}, 1000.0);
        splitMmInto(target, ProductTarget::Set, a, b);
        EXPECT_TRUE(isWithin(target, a, b)) << inner;
        splitMmInto(target, ProductTarget::Add, a, b);
        EXPECT_TRUE(isWithin(target / 2, a, b)) << inner;
    }
}

TEST(SplitMm, HasTheGradientsOfAProduct)
{
    at::manual_seed(4);
    const Tensor a = at::randn({6, 8}).requires_grad_(true);
    const Tensor weight = at::empty_strided({8, 10}, {1, 8}).normal_().requires_grad_(true);
    const Tensor gradient = at::randn({6, 10});
    torch::autograd::backward({splitMm(a, weight)}, {gradient});
    EXPECT_TRUE(isWithin(a.grad(), gradient, weight.detach().t()));
    EXPECT_TRUE(isWithin(weight.grad(), a.detach().t(), gradient));
    EXPECT_EQ(weight.grad().strides(), weight.strides());
    // All elements have the same gradient, which is stored once.
    a.mutable_grad().reset();
    torch::autograd::backward({splitMm(a, weight).sum()});
    EXPECT_TRUE(isWithin(a.grad(), at::ones({6, 10}), weight.detach().t()));
}

TEST(SplitMm, MakesTheModelAsExactAsInFp32)
{
    ExperimentSpec spec = test::tinyLm();
    spec.backend = Backend::Flash;
    const auto logitsOf = [&spec](Precision precision, at::ScalarType type) {
        spec.precision = precision;
        at::manual_seed(3);
        LanguageModel model(spec, EagerOps(spec, at::dtype(type), attentionOf(spec), type));
        const at::NoGradGuard noGrad;
        if (type == at::kDouble) { // the same weights: numbers of other types are drawn differently
            LanguageModel drawn(spec, EagerOps(spec, at::dtype(at::kFloat), attentionOf(spec), at::kFloat));
            for (std::size_t i = 0; i < drawn.parameters().size(); ++i)
                model.parameters()[i].copy_(drawn.parameters()[i]);
        }
        at::manual_seed(4);
        return model.forward(at::randint(spec.vocab, {spec.batch * spec.context}, at::dtype(at::kLong)))
            .to(at::kDouble);
    };
    const Tensor exact = logitsOf(Precision::Fp32, at::kDouble);
    const auto errorOf = [&](const Tensor& logits) {
        return (logits - exact).pow(2).mean().sqrt().item<double>();
    };
    const double fp32 = errorOf(logitsOf(Precision::Fp32, at::kFloat));
    const double fp32x6 = errorOf(logitsOf(Precision::Fp32x6, at::kFloat));
    EXPECT_GT(fp32x6, 0);
    // Root mean squares over all logits, with six times as many additions: at most the square root of 6 times as much
    // where additions cause the error, and a factor of 2 for the differences between two drawn errors.
    EXPECT_LE(fp32x6, 2 * std::sqrt(6.0) * fp32);
}

TEST(SplitMm, IsAsExactOnTensorCores)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    at::manual_seed(5);
    for (const auto& [rows, inner, columns] :
         {std::array<std::int64_t, 3>{64, 24, 72}, {8, 512, 40}, {33, 7, 129}}) {
        const Tensor a = at::randn({rows, inner}).cuda();
        const Tensor b = at::randn({inner, columns}).cuda();
        const Tensor bTransposed = b.t().contiguous().t();
        EXPECT_TRUE(isWithin(splitMm(a, b), a, b)) << rows;
        EXPECT_TRUE(isWithin(splitMm(a, bTransposed), a, b)) << rows;
        EXPECT_TRUE(isWithin(splitMm(a.t().contiguous().t(), bTransposed), a, b)) << rows;
    }
}

TEST(SplitMm, RunsEveryModeAndWayToCompute)
{
    StringTable strings;
    Engine engine(strings);
    for (const Mode mode : {Mode::Forward, Mode::Both, Mode::Train})
        for (const auto compile : {CompileRequest::Kind::None, CompileRequest::Kind::Fused}) {
            ExperimentSpec spec = test::tinyLm();
            spec.mode = mode;
            spec.loss = LossKind::CrossEntropy;
            spec.backend = Backend::Flash;
            spec.precision = Precision::Fp32x6;
            spec.compile = {compile};
            test::Recorder recorder;
            const RunResult result = engine.runPoint(spec, recorder, {});
            EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
        }
}

/// With few rows the kept parts are used, with many the weight is split again.
TEST(WeightParts, GiveTheProductsOfTheWeight)
{
    at::manual_seed(1);
    for (const std::int64_t rows : {1, 16, 400}) {
        SCOPED_TRACE(rows);
        const Tensor weight = spread({40, 24}).t();
        const WeightParts parts(weight);
        const Tensor x = spread({rows, 24});
        EXPECT_TRUE(isWithin(splitMm(x, weight, parts), x, weight));
        const Tensor gradient = spread({rows, 40});
        Tensor gradX = at::full({rows, 24}, std::nan(""));
        splitInputGradientInto(gradX, gradient, weight, parts);
        EXPECT_TRUE(isWithin(gradX, gradient, weight.t()));
    }
}

TEST(WeightParts, AreAsExactOnAGpu)
{
    if (!at::hasCUDA())
        GTEST_SKIP() << "needs a GPU";
    at::manual_seed(1);
    for (const std::int64_t rows : {8, 512, 4096}) {
        SCOPED_TRACE(rows);
        const Tensor weight = spread({384, 128}).t();
        const Tensor x = spread({rows, 128});
        const Tensor gradient = spread({rows, 384});
        const Tensor onGpu = weight.t().cuda().t();
        const WeightParts parts(onGpu);
        EXPECT_TRUE(isWithin(splitMm(x.cuda(), onGpu, parts).cpu(), x, weight));
        Tensor gradX = at::full({rows, 128}, std::nan(""), at::device(at::kCUDA));
        splitInputGradientInto(gradX, gradient.cuda(), onGpu, parts);
        EXPECT_TRUE(isWithin(gradX.cpu(), gradient, weight.t()));
    }
}

} // namespace
} // namespace tilescope::engine
