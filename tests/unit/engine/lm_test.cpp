#include "core/engine/lm/lm.h"

#include "core/base/error.h"
#include "core/engine/common/autocast.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace tilescope::engine {
namespace {

using at::Tensor;

ExperimentSpec sizedSpec(std::int64_t dModel, std::int64_t dFf, std::int64_t layers, std::int64_t heads)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.dModel = dModel;
    spec.dFf = dFf;
    spec.layers = layers;
    spec.heads = heads;
    return spec;
}

ExperimentSpec toySpec()
{
    ExperimentSpec spec = sizedSpec(24, 40, 2, 3);
    spec.vocab = 50;
    spec.batch = 2;
    spec.context = 11;
    return spec;
}

LanguageModel toyModel(ExperimentSpec spec, Backend backend)
{
    at::manual_seed(3);
    spec.backend = backend;
    AttentionSpec attention = attentionOf(spec);
    attention.tileQ = attention.tileK = 4;
    return LanguageModel(spec, EagerOps(spec, at::dtype(at::kDouble), attention, at::kDouble));
}

Tensor toyTokens(const ExperimentSpec& spec)
{
    at::manual_seed(4);
    return at::randint(spec.vocab, {spec.batch * spec.context}, at::dtype(at::kLong));
}

struct Preset {
    const char* name;
    ExperimentSpec spec;
    std::int64_t parameters;
};

class LmPresets : public ::testing::TestWithParam<Preset> {};

TEST_P(LmPresets, HaveExactlyTheirParameters)
{
    // Meta tensors have shapes and no memory.
    ExperimentSpec spec = GetParam().spec;
    spec.backend = Backend::FlashTorch;
    const auto options = at::device(at::kMeta).dtype(at::kFloat);
    const LanguageModel model(spec, EagerOps(spec, options, attentionOf(spec), at::kFloat));
    EXPECT_EQ(model.ops().weightElements(), GetParam().parameters);
}

std::string nameOfPreset(const ::testing::TestParamInfo<Preset>& preset)
{
    return preset.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sizes, LmPresets,
                         ::testing::Values(Preset{"small", sizedSpec(768, 3072, 12, 12), 128'625'408},
                                           Preset{"medium", sizedSpec(1024, 4096, 24, 16), 423'183'360},
                                           Preset{"large", sizedSpec(1280, 5120, 36, 20), 969'411'840},
                                           Preset{"xl", sizedSpec(1600, 6400, 48, 25), 1'998'235'200},
                                           Preset{"2_7B", sizedSpec(2560, 10240, 32, 32), 3'406'809'600}),
                         nameOfPreset);

// The same model by plain ops and separate projections.
class PlainModel {
public:
    PlainModel(const ExperimentSpec& spec, const std::vector<Tensor>& packed) : spec_(spec), packed_(packed)
    {
    }

    Tensor forward(const Tensor& tokens) const
    {
        std::size_t next = 0;
        Tensor x = at::embedding(packed_[next++], tokens.view({spec_.batch, spec_.context}));
        for (std::int64_t i = 0; i < spec_.layers; ++i) {
            const Tensor* w = &packed_[next];
            next += 6;
            const Tensor y = norm(x, w[0]);
            const std::int64_t d = spec_.dModel;
            const auto part = [&](std::int64_t index) {
                const Tensor projected = at::matmul(y, w[1].narrow(1, index * d, d));
                return projected.view({spec_.batch, spec_.context, spec_.heads, -1}).transpose(1, 2);
            };
            const Tensor o = attend(rotate(part(0)), rotate(part(1)), part(2));
            x = x + at::matmul(o, w[2]);
            const Tensor z = norm(x, w[3]);
            const std::int64_t f = spec_.dFf;
            const Tensor gate = at::matmul(z, w[4].narrow(1, 0, f));
            const Tensor up = at::matmul(z, w[4].narrow(1, f, f));
            x = x + at::matmul(at::silu(gate) * up, w[5]);
        }
        x = norm(x, packed_[next]);
        return at::matmul(x, packed_[next + 1]).view({-1, spec_.vocab});
    }

private:
    Tensor norm(const Tensor& x, const Tensor& weight) const
    {
        return weight * (x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5));
    }

    Tensor rotate(const Tensor& x) const
    {
        const std::int64_t e = x.size(-1);
        const Tensor frequency =
            at::pow(spec_.ropeTheta, -at::arange(0, e, 2, x.options()) / static_cast<double>(e));
        const Tensor angle = at::outer(at::arange(x.size(-2), x.options()), frequency);
        const auto pairs = x.unflatten(-1, {e / 2, 2});
        const Tensor a = pairs.select(-1, 0);
        const Tensor b = pairs.select(-1, 1);
        return at::stack({a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()}, -1)
            .flatten(-2);
    }

    Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) const
    {
        const Tensor o = at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
        return o.transpose(1, 2).reshape({spec_.batch, spec_.context, spec_.dModel});
    }

    ExperimentSpec spec_;
    std::vector<Tensor> packed_;
};

class LmBackends : public ::testing::TestWithParam<Backend> {};

TEST_P(LmBackends, LogitsAndGradientsAreThoseOfPlainOps)
{
    const ExperimentSpec spec = toySpec();
    LanguageModel model = toyModel(spec, GetParam());
    const Tensor tokens = toyTokens(spec);
    const Tensor logits = model.forward(tokens);
    const Tensor plain = PlainModel(spec, model.parameters()).forward(tokens);
    ASSERT_EQ(logits.sizes(), plain.sizes());
    EXPECT_LE((logits - plain).abs().max().item<double>(), 1e-11);

    const Tensor targets = at::randint(spec.vocab, {spec.batch * spec.context}, at::dtype(at::kLong));
    const auto grads = torch::autograd::grad({at::cross_entropy_loss(logits, targets)}, model.parameters());
    const auto plainGrads =
        torch::autograd::grad({at::cross_entropy_loss(plain, targets)}, model.parameters());
    for (std::size_t i = 0; i < grads.size(); ++i) {
        EXPECT_GT(grads[i].abs().max().item<double>(), 0) << "parameter " << i;
        EXPECT_LE((grads[i] - plainGrads[i]).abs().max().item<double>(), 1e-11) << "parameter " << i;
    }
}

TEST_P(LmBackends, AFutureTokenDoesNotChangePastLogits)
{
    ExperimentSpec spec = toySpec();
    spec.batch = 1;
    const at::NoGradGuard noGrad;
    LanguageModel model = toyModel(spec, GetParam());
    const Tensor tokens = toyTokens(spec);
    Tensor changed = tokens.clone();
    constexpr std::int64_t kPosition = 6;
    changed[kPosition] = (changed[kPosition] + 1) % spec.vocab;
    const Tensor difference = (model.forward(tokens) - model.forward(changed)).abs().amax(-1);
    EXPECT_EQ(difference.narrow(0, 0, kPosition).max().item<double>(), 0);
    EXPECT_GT(difference.narrow(0, kPosition, spec.context - kPosition).min().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, LmBackends,
                         ::testing::Values(Backend::Naive, Backend::FlashTorch, Backend::Flash, Backend::Sdpa,
                                           Backend::SdpaMath));

TEST(LanguageModel, KeepsTheLayoutOfItsWeightsInTheirGradients)
{
    // Only then are gradients taken over without a copy, and only then does the fused optimizer take its fast
    // path.
    const ExperimentSpec spec = toySpec();
    LanguageModel model = toyModel(spec, Backend::Naive);
    torch::autograd::backward({model.forward(toyTokens(spec)).sum()});
    for (const Tensor& parameter : model.parameters())
        EXPECT_EQ(parameter.grad().strides(), parameter.strides());
}

LanguageModel floatModel(const ExperimentSpec& spec, at::ScalarType attentionType)
{
    return LanguageModel(spec, EagerOps(spec, at::dtype(at::kFloat), attentionOf(spec), attentionType));
}

std::vector<Tensor> gradientsWith(Checkpointing checkpointing, Backend backend,
                                  std::optional<at::ScalarType> autocast)
{
    ExperimentSpec spec = toySpec();
    spec.layers = 5;
    spec.backend = backend;
    spec.checkpointing = checkpointing;
    at::manual_seed(3);
    LanguageModel model = floatModel(spec, autocast.value_or(at::kFloat));
    Tensor loss;
    {
        const AutocastScope scope(at::kCPU, autocast);
        loss = model.forward(toyTokens(spec)).sum();
    }
    torch::autograd::backward({loss});
    std::vector<Tensor> gradients{loss.detach()};
    for (const Tensor& parameter : model.parameters())
        gradients.push_back(parameter.grad());
    return gradients;
}

TEST(LanguageModel, GivesTheSameGradientsToTheBitWithCheckpointing)
{
    using Kind = Checkpointing::Kind;
    for (const Backend backend : {Backend::Naive, Backend::FlashTorch})
        for (const std::optional<at::ScalarType> autocast :
             {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)}) {
            const auto plain = gradientsWith({}, backend, autocast);
            for (const Checkpointing checkpointing :
                 {Checkpointing{Kind::Block, 1}, Checkpointing{Kind::Block, 2}, Checkpointing{Kind::Block, 5},
                  Checkpointing{Kind::Block, 2, 1}, Checkpointing{Kind::Block, 1, 3},
                  Checkpointing{Kind::Nested, 2}, Checkpointing{Kind::Nested, 3},
                  Checkpointing{Kind::Nested, 5}, Checkpointing{Kind::Attention}}) {
                const auto recomputed = gradientsWith(checkpointing, backend, autocast);
                ASSERT_EQ(plain.size(), recomputed.size());
                for (std::size_t i = 0; i < plain.size(); ++i)
                    EXPECT_TRUE(at::equal(plain[i], recomputed[i])) << "tensor " << i;
            }
        }
}

TEST(LanguageModel, RefusesHeadsThatDoNotDivideTheWidth)
{
    ExperimentSpec spec = toySpec();
    spec.heads = 5;
    EXPECT_THROW(toyModel(spec, Backend::FlashTorch), Error);
}

TEST(LanguageModel, KeepsTheResidualStreamInFp32UnderAutocast)
{
    const ExperimentSpec spec = toySpec();
    LanguageModel model = floatModel(spec, at::kBFloat16);
    const Tensor exact = model.forward(toyTokens(spec)).detach();
    Tensor mixed;
    {
        const AutocastScope autocast(at::kCPU, at::kBFloat16);
        mixed = model.forward(toyTokens(spec));
    }
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_EQ(mixed.scalar_type(), at::kBFloat16);
    const double error = (mixed.to(at::kFloat) - exact).abs().max().item<double>();
    EXPECT_GT(error, 0);
    EXPECT_LE(error, 0.05 * exact.abs().max().item<double>());
    torch::autograd::backward({mixed.sum()});
    for (const Tensor& parameter : model.parameters())
        EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
}

} // namespace
} // namespace tilescope::engine
