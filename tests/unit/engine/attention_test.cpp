#include "core/engine/attention/attention.h"

#include "core/engine/common/failure.h"
#include "core/model/attention_backend.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace tilescope::engine {
namespace {

using at::Tensor;

struct Inputs {
    Tensor q, k, v;
};

/// An attention call and its inputs.
struct Problem : AttentionSpec {
    at::Device device = at::kCPU;
    at::ScalarType dtype = at::kDouble;

    at::TensorOptions inputs() const { return at::device(device).dtype(dtype); }
};

Problem problemOf(std::int64_t heads, std::int64_t kvHeads, std::int64_t queries, std::int64_t keys,
                  bool causal)
{
    Problem problem;
    problem.batch = 2;
    problem.heads = heads;
    problem.kvHeads = kvHeads;
    problem.queries = queries;
    problem.keys = keys;
    problem.headDim = 8;
    problem.causal = causal;
    problem.scale = 1 / std::sqrt(8.0);
    problem.needsGrad = true;
    problem.tileQ = problem.tileK = 16;
    return problem;
}

Inputs inputsFor(const Problem& p)
{
    at::manual_seed(7);
    const auto options = at::dtype(at::kDouble);
    const auto draw = [&](std::int64_t heads, std::int64_t length) {
        return at::randn({p.batch, heads, length, p.headDim}, options).to(p.dtype);
    };
    return {draw(p.heads, p.queries), draw(p.kvHeads, p.keys), draw(p.kvHeads, p.keys)};
}

// Attention by its definition, in double, a query at a time.
Tensor reference(const Inputs& in, const Problem& p)
{
    const Tensor q = in.q.to(at::kDouble);
    const Tensor k = in.k.to(at::kDouble).repeat_interleave(p.heads / p.kvHeads, 1);
    const Tensor v = in.v.to(at::kDouble).repeat_interleave(p.heads / p.kvHeads, 1);
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < p.queries; ++i) {
        const std::int64_t seen =
            p.causal ? std::clamp<std::int64_t>(i + p.keys - p.queries + 1, 0, p.keys) : p.keys;
        const Tensor qi = q.narrow(2, i, 1);
        if (seen == 0) {
            rows.push_back(at::zeros_like(qi));
            continue;
        }
        const Tensor weights =
            at::softmax(at::matmul(qi, k.narrow(2, 0, seen).transpose(2, 3)) * p.scale, -1);
        rows.push_back(at::matmul(weights, v.narrow(2, 0, seen)));
    }
    return at::cat(rows, 2);
}

struct Answer {
    Tensor o, gradQ, gradK, gradV;
};

Answer gradientsOf(const Inputs& in, const Tensor& o)
{
    at::manual_seed(8);
    const Tensor gradO = at::randn(o.sizes(), at::dtype(at::kDouble)).to(o.scalar_type());
    const auto grads = torch::autograd::grad({o}, {in.q, in.k, in.v}, {gradO});
    return {o.detach(), grads[0], grads[1], grads[2]};
}

Inputs leavesOf(const Inputs& in)
{
    const auto leaf = [](const Tensor& t) { return t.detach().clone().set_requires_grad(true); };
    return {leaf(in.q), leaf(in.k), leaf(in.v)};
}

Answer answerOf(Backend backend, const Problem& p, const Inputs& in)
{
    const auto attention = makeAttention(backend, p, p.inputs());
    const Inputs leaves = leavesOf(in);
    const auto shaped = [&](const Tensor& t) {
        return traitsOf(backend).groupsHeads ? t.view({p.batch * p.kvHeads, -1, p.headDim}) : t;
    };
    const Tensor o = attention->apply(shaped(leaves.q), shaped(leaves.k), shaped(leaves.v));
    return gradientsOf(leaves, o.view(in.q.sizes()));
}

Answer referenceAnswer(const Problem& p, const Inputs& in)
{
    const auto leaf = [](const Tensor& t) {
        return t.to(at::kDouble).detach().clone().set_requires_grad(true);
    };
    const Inputs leaves{leaf(in.q), leaf(in.k), leaf(in.v)};
    return gradientsOf(leaves, reference(leaves, p));
}

double distance(const Tensor& a, const Tensor& b)
{
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

void expectSame(const Answer& got, const Answer& want, double tolerance)
{
    EXPECT_LE(distance(got.o, want.o), tolerance);
    EXPECT_LE(distance(got.gradQ, want.gradQ), tolerance);
    EXPECT_LE(distance(got.gradK, want.gradK), tolerance);
    EXPECT_LE(distance(got.gradV, want.gradV), tolerance);
}

struct BackendCase {
    Backend backend;
    std::int64_t heads, kvHeads, queries, keys;
    bool causal;
};

std::string nameOfCase(const ::testing::TestParamInfo<BackendCase>& info)
{
    const BackendCase& c = info.param;
    return "backend" + std::to_string(static_cast<int>(c.backend)) + "_" + std::to_string(c.heads) + "on" +
           std::to_string(c.kvHeads) + "_" + std::to_string(c.queries) + "x" + std::to_string(c.keys) +
           (c.causal ? "_causal" : "_full");
}

std::vector<BackendCase> allCases()
{
    struct Shape {
        std::int64_t heads, kvHeads, queries, keys;
    };
    std::vector<BackendCase> cases;
    for (const Backend backend : {Backend::Naive, Backend::FlashTorch, Backend::Flash, Backend::Sdpa,
                                  Backend::SdpaFlash, Backend::SdpaMath})
        for (const Shape& s : {Shape{1, 1, 1, 1}, Shape{2, 2, 64, 64}, Shape{2, 2, 33, 70},
                               Shape{2, 2, 70, 33}, Shape{4, 2, 40, 40}, Shape{6, 1, 17, 50},
                               Shape{4, 2, 50, 17}, Shape{2, 2, 1, 40}, Shape{2, 2, 40, 1}})
            for (const bool causal : {true, false})
                cases.push_back({backend, s.heads, s.kvHeads, s.queries, s.keys, causal});
    return cases;
}

class AttentionBackends : public ::testing::TestWithParam<BackendCase> {};

TEST_P(AttentionBackends, AgreeWithTheDefinitionInFp64)
{
    const BackendCase& c = GetParam();
    const Problem p = problemOf(c.heads, c.kvHeads, c.queries, c.keys, c.causal);
    const Inputs in = inputsFor(p);
    expectSame(answerOf(c.backend, p, in), referenceAnswer(p, in), 1e-12);
}

TEST_P(AttentionBackends, AgreeWithTheDefinitionInFp32)
{
    const BackendCase& c = GetParam();
    Problem p = problemOf(c.heads, c.kvHeads, c.queries, c.keys, c.causal);
    p.dtype = at::kFloat;
    const Inputs in = inputsFor(p);
    expectSame(answerOf(c.backend, p, in), referenceAnswer(p, in), 2e-5);
}

TEST_P(AttentionBackends, GiveTheSameWithoutAGraph)
{
    const BackendCase& c = GetParam();
    const Problem p = problemOf(c.heads, c.kvHeads, c.queries, c.keys, c.causal);
    const Inputs in = inputsFor(p);
    const Tensor withGraph = answerOf(c.backend, p, in).o;
    const at::NoGradGuard noGrad;
    const auto attention = makeAttention(c.backend, p, p.inputs());
    const auto shaped = [&](const Tensor& t) {
        return traitsOf(c.backend).groupsHeads ? t.view({p.batch * p.kvHeads, -1, p.headDim}) : t;
    };
    const Tensor o = attention->apply(shaped(in.q), shaped(in.k), shaped(in.v)).view(in.q.sizes());
    EXPECT_LE(distance(o, withGraph), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionBackends, ::testing::ValuesIn(allCases()), nameOfCase);

TEST(TiledAttention, GradientsAreThoseOfFiniteDifferences)
{
    const Problem p = problemOf(2, 1, 19, 23, true);
    const Inputs in = inputsFor(p);
    const auto attention = makeTiledAttention(p, p.inputs());
    at::manual_seed(9);
    const Tensor direction = at::randn(in.q.sizes(), at::dtype(at::kDouble));
    const auto value = [&](const Inputs& at) {
        const at::NoGradGuard noGrad;
        return (attention->apply(at.q, at.k, at.v) * direction).sum().item<double>();
    };
    const Inputs leaves = leavesOf(in);
    const auto grads = torch::autograd::grad(
        {(attention->apply(leaves.q, leaves.k, leaves.v) * direction).sum()}, {leaves.q, leaves.k, leaves.v});
    constexpr double kStep = 1e-6;
    for (int which = 0; which < 3; ++which) {
        for (const std::int64_t element : {0, 5, 41, 100}) {
            Inputs up = leavesOf(in);
            Inputs down = leavesOf(in);
            const at::NoGradGuard noGrad;
            for (auto [moved, sign] : {std::pair(&up, 1), std::pair(&down, -1)})
                (which == 0 ? moved->q : which == 1 ? moved->k : moved->v).view(-1)[element] += sign * kStep;
            const double slope = (value(up) - value(down)) / (2 * kStep);
            EXPECT_NEAR(grads[which].view(-1)[element].item<double>(), slope, 1e-7);
        }
    }
}

TEST(TiledAttention, TileSizesDoNotChangeTheResult)
{
    Problem p = problemOf(2, 2, 100, 130, true);
    const Inputs in = inputsFor(p);
    const Answer want = referenceAnswer(p, in);
    for (const auto& [tileQ, tileK] : {std::pair(16, 16), std::pair(16, 64), std::pair(64, 16),
                                       std::pair(48, 80), std::pair(1024, 1024), std::pair(17, 19)}) {
        p.tileQ = tileQ;
        p.tileK = tileK;
        expectSame(answerOf(Backend::FlashTorch, p, in), want, 1e-12);
    }
}

TEST(TiledAttention, WorksInWavesWhereAllQueriesDoNotFit)
{
    // 512 rows of 64 keys for 64 heads are over the budget of a CPU's wave.
    Problem p = problemOf(32, 32, 512, 512, true);
    p.headDim = 4;
    p.tileQ = p.tileK = 64;
    const Inputs in = inputsFor(p);
    expectSame(answerOf(Backend::FlashTorch, p, in), referenceAnswer(p, in), 1e-12);
}

TEST(TiledAttention, KeepsOnlyInputsOutputAndLogSumExpForBackward)
{
    const Problem p = problemOf(1, 1, 64, 64, false);
    const Inputs leaves = leavesOf(inputsFor(p));
    const Tensor o = makeTiledAttention(p, p.inputs())->apply(leaves.q, leaves.k, leaves.v);
    // Changing an input in place after forward must be noticed: it is saved, not copied.
    {
        const at::NoGradGuard noGrad;
        leaves.k.add_(1);
    }
    EXPECT_THROW(torch::autograd::backward({o.sum()}), c10::Error);
}

TEST(TiledAttention, SurvivesLargeScoresAndOneDominantKey)
{
    Problem p = problemOf(2, 2, 40, 40, true);
    Inputs in = inputsFor(p);
    in.q = in.q * 30;
    in.k = in.k * 30;
    in.k.narrow(2, 3, 1).mul_(20);
    const Answer want = referenceAnswer(p, in);
    const double scale = want.gradQ.abs().max().item<double>() + want.gradK.abs().max().item<double>();
    expectSame(answerOf(Backend::FlashTorch, p, in), want, 1e-9 * scale);
}

TEST(TiledAttention, RunsInHalfTypesAsAccuratelyAsNaive)
{
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
        Problem p = problemOf(2, 2, 70, 70, true);
        p.dtype = dtype;
        const Inputs in = inputsFor(p);
        const Answer want = referenceAnswer(p, in);
        const Answer naive = answerOf(Backend::Naive, p, in);
        const Answer tiled = answerOf(Backend::FlashTorch, p, in);
        const double ulp = dtype == at::kHalf ? 1e-3 : 8e-3;
        EXPECT_LE(distance(tiled.o, want.o), 2 * distance(naive.o, want.o) + ulp);
        EXPECT_LE(distance(tiled.gradQ, want.gradQ), 2 * distance(naive.gradQ, want.gradQ) + ulp);
        EXPECT_LE(distance(tiled.gradK, want.gradK), 2 * distance(naive.gradK, want.gradK) + ulp);
        EXPECT_LE(distance(tiled.gradV, want.gradV), 2 * distance(naive.gradV, want.gradV) + ulp);
    }
}

TEST(SdpaAttention, CudaKernelsAreSkippedOnTheCpuWithAReason)
{
    for (const Backend backend : {Backend::FlashFp8, Backend::SdpaEfficient, Backend::SdpaCudnn}) {
        try {
            const Problem p = problemOf(1, 1, 8, 8, true);
            makeAttention(backend, p, p.inputs());
            FAIL() << "a CUDA kernel was made for the CPU";
        } catch (const Unsupported& unsupported) {
            EXPECT_THAT(unsupported.reason, ::testing::HasSubstr("CUDA kernel"));
        }
    }
}

// Which problems are refused on a device. A GPU must have the kernels of all backends: compute capability 9.0.
void expectTraitsOn(const at::Device& device)
{
    for (const BackendTraits& traits : kBackendTraits)
        for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16})
            for (const bool sharesHeads : {false, true})
                for (const bool hasMask : {false, true})
                    for (const std::int64_t headDim : {16, 20, 64}) {
                        Problem p = problemOf(4, sharesHeads ? 2 : 4, 32, hasMask ? 40 : 32, true);
                        p.dtype = dtype;
                        p.device = device;
                        p.headDim = headDim;
                        p.needsGrad = !traits.isForwardOnly;
                        const bool isPrecisionTaken = !traits.onCuda.bf16Only || dtype == at::kBFloat16;
                        bool isTaken = true;
                        try {
                            makeAttention(traits.backend, p, p.inputs());
                        } catch (const Unsupported&) {
                            isTaken = false;
                        }
                        EXPECT_EQ(isTaken,
                                  device.is_cuda()
                                      ? isPrecisionTaken && takesOnCuda(traits, headDim, dtype != at::kFloat,
                                                                        sharesHeads, hasMask)
                                      : !traits.needsCuda)
                            << traits.name << ", " << dtype << ", head dim " << headDim << ", shares heads "
                            << sharesHeads << ", mask " << hasMask;
                    }
}

// Roundings of up to 2^-4 of each q, k and v.
TEST(Fp8Attention, DiffersFromTheDefinitionByRoundingOnly)
{
    if (!at::hasCUDA() || at::cuda::getDeviceProperties(0)->major != 9)
        GTEST_SKIP() << "needs a GPU of compute capability 9.0";
    const at::NoGradGuard noGrad;
    for (const bool causal : {false, true})
        for (const std::int64_t headDim : {64, 128}) {
            Problem p = problemOf(4, 2, 200, 333, causal);
            p.device = at::Device(at::kCUDA, 0);
            p.dtype = at::kBFloat16;
            p.headDim = headDim;
            p.scale = 1 / std::sqrt(static_cast<double>(headDim));
            p.needsGrad = false;
            const Inputs in = inputsFor(p);
            const Tensor expected = reference(in, p);
            const auto attention = makeAttention(Backend::FlashFp8, p, p.inputs());
            const Tensor o = attention->apply(in.q.to(p.device), in.k.to(p.device), in.v.to(p.device));
            const Tensor difference = o.cpu().to(at::kDouble) - expected;
            const double error = (difference.norm() / expected.norm()).item<double>();
            EXPECT_LT(error, 0.1) << "head dim " << headDim << (causal ? ", causal" : ", full");
            EXPECT_GT(error, 0.01) << "the products are not in FP8";
        }
}

TEST(AttentionBackendTraits, SayWhatTheCpuRefuses)
{
    expectTraitsOn(at::kCPU);
}

TEST(AttentionBackendTraits, SayWhatAGpuRefuses)
{
    if (!at::hasCUDA() || at::cuda::getDeviceProperties(0)->major != 9)
        GTEST_SKIP() << "needs a GPU of compute capability 9.0";
    expectTraitsOn(at::Device(at::kCUDA, 0));
}

} // namespace
} // namespace tilescope::engine
