#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <ATen/autocast_mode.h>

#include <cmath>

namespace {

using Output = std::tuple<at::Tensor, at::Tensor>;

Output attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                 std::optional<double> scale = std::nullopt, const std::string& fp32 = "ieee",
                 bool deterministic = false)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("tilescope::attention", "")
                               .typed<Output(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool,
                                             std::optional<double>, c10::string_view, bool)>();
    return op.call(q, k, v, causal, scale, fp32, deterministic);
}

at::Tensor random(at::IntArrayRef sizes, at::ScalarType type = at::kFloat)
{
    return at::randn(sizes, at::TensorOptions().dtype(type));
}

/// Attention by its definition.
at::Tensor defined(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal)
{
    at::Tensor scores = q.matmul(k.transpose(-1, -2)) / std::sqrt(q.size(-1));
    if (causal) {
        const at::Tensor seen = at::ones({q.size(-2), k.size(-2)}, at::kBool).tril(k.size(-2) - q.size(-2));
        scores = scores.masked_fill(~seen, -INFINITY);
    }
    return at::softmax(scores, -1).matmul(v);
}

class AttentionOp : public ::testing::Test {
protected:
    void SetUp() override { torch::manual_seed(7); }
};

TEST_F(AttentionOp, EqualsItsDefinitionAndItsGradients)
{
    for (const bool causal : {false, true}) {
        for (const int headDim : {1, 16, 80, 256}) {
            at::Tensor q = random({2, 3, 70, headDim}, at::kDouble).requires_grad_();
            at::Tensor k = random({2, 3, 133, headDim}, at::kDouble).requires_grad_();
            at::Tensor v = random({2, 3, 133, headDim}, at::kDouble).requires_grad_();
            const at::Tensor weights = random({2, 3, 70, headDim}, at::kDouble);
            const auto gradients = [&](const at::Tensor& o) {
                return torch::autograd::grad({(o * weights).sum()}, {q, k, v});
            };
            const at::Tensor o = std::get<0>(attention(q, k, v, causal));
            const at::Tensor reference = defined(q, k, v, causal);
            EXPECT_LT((o - reference).abs().max().item<double>(), 1e-13);
            const auto mine = gradients(o);
            const auto theirs = gradients(reference);
            for (int i = 0; i < 3; ++i) {
                EXPECT_LT((mine[i] - theirs[i]).abs().max().item<double>(), 1e-12) << "input " << i;
            }
        }
    }
}

TEST_F(AttentionOp, SavesNoMoreForBackwardThanItsInputsAndOutputs)
{
    at::Tensor q = random({1, 1, 300, 64}, at::kBFloat16).requires_grad_();
    const at::Tensor k = random({1, 1, 300, 64}, at::kBFloat16);
    auto [o, lse] = attention(q, k, k, true);
    EXPECT_EQ(o.grad_fn()->name(), "AttentionBackward") << "the graph holds one node a call";
    EXPECT_EQ(lse.scalar_type(), at::kFloat);
    EXPECT_EQ(lse.sizes(), (std::vector<std::int64_t>{1, 1, 300}));
    EXPECT_EQ(lse.grad_fn(), o.grad_fn());
}

TEST_F(AttentionOp, RowsWithoutKeysAreZero)
{
    at::Tensor q = random({1, 5, 16}).requires_grad_();
    at::Tensor k = random({1, 2, 16}).requires_grad_();
    auto [o, lse] = attention(q, k, k, true);
    EXPECT_TRUE((o.slice(1, 0, 3) == 0).all().item<bool>());
    EXPECT_TRUE((lse.slice(1, 0, 3) == -INFINITY).all().item<bool>());
    EXPECT_TRUE(lse.slice(1, 3, 5).isfinite().all().item<bool>());
    o.sum().backward();
    EXPECT_TRUE((q.grad().slice(1, 0, 3) == 0).all().item<bool>());
    EXPECT_TRUE(k.grad().isfinite().all().item<bool>());
}

TEST_F(AttentionOp, OutputKeepsTheLayoutOfTheQueries)
{
    const at::Tensor packed = random({2, 40, 3, 4, 32});
    const auto parts = packed.permute({2, 0, 3, 1, 4}).unbind(0);
    const at::Tensor o = std::get<0>(attention(parts[0], parts[1], parts[2], false));
    EXPECT_TRUE(o.transpose(1, 2).is_contiguous()) << "so that joining the heads is a view";
}

TEST_F(AttentionOp, AutocastComputesInTheAutocastType)
{
    const at::Tensor q = random({1, 2, 20, 16});
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    const at::Tensor o = std::get<0>(attention(q, q, q, false));
    at::autocast::set_autocast_enabled(at::kCPU, false);
    EXPECT_EQ(o.scalar_type(), at::kBFloat16);
}

TEST_F(AttentionOp, InfersShapesWithoutData)
{
    const at::Tensor q = at::empty({2, 6, 50, 64}, at::TensorOptions().device(at::kMeta).dtype(at::kHalf));
    const at::Tensor k = at::empty({2, 3, 70, 64}, at::TensorOptions().device(at::kMeta).dtype(at::kHalf));
    const auto [o, lse] = attention(q, k, k, true);
    EXPECT_EQ(o.sizes(), q.sizes());
    EXPECT_EQ(lse.sizes(), (std::vector<std::int64_t>{2, 6, 50}));
    EXPECT_EQ(lse.scalar_type(), at::kFloat);
}

TEST_F(AttentionOp, RefusesBadInputInOneSentence)
{
    const at::Tensor q = random({2, 4, 8, 16});
    const auto sentence = [](auto call) -> std::string {
        try {
            call();
        } catch (const c10::Error& error) {
            return error.what_without_backtrace();
        }
        return "accepted";
    };
    using ::testing::HasSubstr;
    EXPECT_THAT(sentence([&] { attention(q, q.to(at::kHalf), q, false); }),
                HasSubstr("k is Half and q is Float"));
    EXPECT_THAT(sentence([&] {
                    attention(random({1, 1, 4, 257}), random({1, 1, 4, 257}), random({1, 1, 4, 257}), false);
                }),
                HasSubstr("head dim 257 is not possible; give 1 to 256"));
    EXPECT_THAT(sentence([&] { attention(q, q.slice(0, 0, 1), q.slice(0, 0, 1), false); }),
                HasSubstr("q has batch 2 and k has batch 1"));
    EXPECT_THAT(sentence([&] {
                    attention(q, random({2, 3, 8, 16}), random({2, 3, 8, 16}), false);
                }),
                HasSubstr("4 query heads cannot share 3 key heads"));
    EXPECT_THAT(sentence([&] { attention(q, q, q, false, NAN); }),
                HasSubstr("scale is nan; give a finite number"));
    EXPECT_THAT(sentence([&] { attention(q, q.to(at::kMeta), q, false); }),
                HasSubstr("k is on meta and q is on cpu"));
    EXPECT_THAT(sentence([&] {
                    attention(q, q, random({2, 4, 9, 16}), false);
                }),
                HasSubstr("give k and v in one shape"));
    EXPECT_THAT(sentence([&] { attention(q, q, q, false, std::nullopt, "fp8"); }),
                HasSubstr("fp32 is 'fp8'"));
    EXPECT_THAT(sentence([&] { attention(q.to(at::kInt), q.to(at::kInt), q.to(at::kInt), false); }),
                HasSubstr("q is Int on cpu"));
    EXPECT_THAT(sentence([&] { attention(q[0][0], q[0][0], q[0][0], false); }),
                HasSubstr("q has 2 dimensions"));
    EXPECT_THAT(sentence([&] { attention(q.slice(3, 0, 0), q.slice(3, 0, 0), q.slice(3, 0, 0), false); }),
                HasSubstr("head dim 0 is not possible; give 1 to 256"));
}

TEST_F(AttentionOp, FewHeadsAndManyThreadsGiveTheSameGradients)
{
    // One head: its keys are split over the threads, and the parts of the queries' gradient are added.
    at::Tensor q = random({1, 700, 32}).requires_grad_();
    at::Tensor k = random({1, 900, 32}).requires_grad_();
    const auto gradients = [&](int threads) {
        at::set_num_threads(threads);
        return torch::autograd::grad({std::get<0>(attention(q, k, k, true)).square().sum()}, {q, k});
    };
    const int before = at::get_num_threads();
    const auto one = gradients(1);
    const auto four = gradients(4);
    const auto again = gradients(4);
    at::set_num_threads(before);
    for (int i = 0; i < 2; ++i) {
        EXPECT_LT((one[i] - four[i]).abs().max().item<float>(), 1e-4);
        EXPECT_TRUE(at::equal(four[i], again[i])) << "deterministic";
    }
}

} // namespace
