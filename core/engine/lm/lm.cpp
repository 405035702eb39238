#include "core/engine/lm/lm.h"

#include "core/base/error.h"
#include "core/engine/common/set_up.h"
#include "core/model/attention_backend.h"
#include "core/trace/host/range.h"

#include <ATen/autocast_mode.h>
#include <c10/util/StringUtil.h>

#include <cmath>

namespace tilescope::engine {
namespace {

using at::Tensor;
using trace::ScopedRange;

constexpr double kNormEpsilon = 1e-5;

void requireRotatable(const LmShape& shape)
{
    if (shape.dModel % shape.heads != 0)
        throw Error{.what = c10::str(shape.heads, " heads do not divide d_model ", shape.dModel),
                    .mend = "choose heads that divide it"};
    if (shape.dModel / shape.heads % 2 != 0)
        throw Error{
            .what = c10::str("a head dim of ", shape.dModel / shape.heads, " cannot carry rotary positions"),
            .mend = "choose d_model and heads with an even quotient"};
}

} // namespace

AttentionProblem attentionOf(const LmShape& shape)
{
    AttentionProblem problem;
    problem.batch = shape.batch;
    problem.heads = problem.kvHeads = shape.heads;
    problem.queryLength = problem.keyLength = shape.context;
    problem.headDim = shape.dModel / shape.heads;
    problem.causal = true;
    problem.scale = 1;
    return problem;
}

// A run of blocks, from one to before another.
class LanguageModel::Blocks final : public RecomputedPart {
public:
    Blocks(const LanguageModel& model, std::size_t begin, std::size_t end)
        : model_(model), begin_(begin), end_(end)
    {
    }

    Tensor run(const std::array<Tensor, 3>& inputs) const override
    {
        Tensor x = inputs[0];
        for (std::size_t i = begin_; i < end_; ++i)
            x = model_.block(model_.layers_[i], x);
        return x;
    }

private:
    const LanguageModel& model_;
    std::size_t begin_;
    std::size_t end_;
};

class LanguageModel::CoreAttention final : public RecomputedPart {
public:
    explicit CoreAttention(AttentionBackend& attention) : attention_(attention) {}

    Tensor run(const std::array<Tensor, 3>& qkv) const override
    {
        return attention_.apply(qkv[0], qkv[1], qkv[2]);
    }

private:
    AttentionBackend& attention_;
};

LanguageModel::LanguageModel(const LmShape& shape, at::TensorOptions options, Backend backend,
                             const AttentionProblem& problem, Checkpointing checkpointing)
    : shape_(shape), options_(options), attention_(makeAttention(backend, problem)),
      groupsHeads_(traitsOf(backend).groupsHeads)
{
    requireRotatable(shape);
    const std::int64_t d = shape.dModel;
    const std::int64_t f = shape.dFf;
    const std::int64_t headDim = d / shape.heads;
    {
        const Making making(MemoryCategory::Inputs, "rotation");
        rotation_ = makeRotation(shape.batch, shape.heads, shape.context, headDim, shape.ropeTheta,
                                 1 / std::sqrt(static_cast<double>(headDim)), options);
    }
    // Glorot's deviation of each map by itself: packing must not change how it starts.
    const auto glorot = [](std::int64_t in, std::int64_t out) {
        return std::sqrt(2.0 / static_cast<double>(in + out));
    };
    embedding_ = weight("embedding", shape.vocab, d, 1);
    layers_.reserve(shape.layers);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
        Layer& layer = layers_.emplace_back();
        layer.name = c10::str("layers.", i);
        layer.attentionNorm = normWeight(layer.name + "/attention_norm");
        layer.qkv = weight(layer.name + "/attention/qkv", d, 3 * d, glorot(d, d));
        layer.projection = weight(layer.name + "/attention/projection", d, d, glorot(d, d));
        layer.ffnNorm = normWeight(layer.name + "/ffn_norm");
        layer.gateUp = weight(layer.name + "/ffn/gate_up", d, 2 * f, glorot(d, f));
        layer.down = weight(layer.name + "/ffn/down", f, d, glorot(f, d));
    }
    norm_ = normWeight("norm");
    head_ = weight("lm_head", d, shape.vocab, glorot(d, shape.vocab));
    checkpoint(checkpointing);
}

LanguageModel::~LanguageModel() = default;

void LanguageModel::checkpoint(Checkpointing checkpointing)
{
    if (checkpointing.kind == Checkpointing::Kind::Attention)
        recomputedAttention_ = std::make_unique<CoreAttention>(*attention_);
    if (checkpointing.kind != Checkpointing::Kind::Block)
        return;
    const auto every = static_cast<std::size_t>(checkpointing.every);
    for (std::size_t begin = 0; begin < layers_.size(); begin += every)
        recomputedBlocks_.push_back(
            std::make_unique<Blocks>(*this, begin, std::min(begin + every, layers_.size())));
}

Tensor LanguageModel::weight(std::string name, std::int64_t in, std::int64_t out, double deviation)
{
    const Making making(MemoryCategory::Parameters, name);
    // An embedding is read by rows, a linear map is kept as nn.Linear keeps it.
    const bool isEmbedding = parameters_.empty();
    Tensor w = isEmbedding ? at::empty({in, out}, options_) : at::empty_strided({in, out}, {1, in}, options_);
    w.normal_(0, deviation).set_requires_grad(true);
    parameters_.push_back(w);
    parameterNames_.push_back(std::move(name));
    return w;
}

Tensor LanguageModel::normWeight(std::string name)
{
    const Making making(MemoryCategory::Parameters, name);
    parameterNames_.push_back(std::move(name));
    parameters_.push_back(at::ones({shape_.dModel}, options_).set_requires_grad(true));
    return parameters_.back();
}

void LanguageModel::visitHeld(const HoldVisitor& visit) const
{
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        visit(MemoryCategory::Parameters, parameterNames_[i], parameters_[i]);
        visit(MemoryCategory::Gradients, parameterNames_[i], parameters_[i].grad());
    }
    visit(MemoryCategory::Inputs, "rotation", rotation_.forward);
    visit(MemoryCategory::Inputs, "rotation of gradients", rotation_.backward);
    attention_->visitHeld(visit);
}

std::int64_t LanguageModel::parameterCount() const
{
    std::int64_t count = 0;
    for (const Tensor& parameter : parameters_)
        count += parameter.numel();
    return count;
}

Tensor LanguageModel::forward(const Tensor& tokens) const
{
    Tensor x;
    {
        const ScopedRange range("embedding");
        x = at::embedding(embedding_, tokens);
    }
    if (recomputedBlocks_.empty())
        for (const Layer& layer : layers_)
            x = block(layer, x);
    for (const auto& blocks : recomputedBlocks_)
        x = recomputedInBackward(*blocks, {x});
    {
        const ScopedRange range("norm");
        x = norm(x, norm_);
    }
    const ScopedRange range("lm_head");
    return at::mm(x, head_);
}

Tensor LanguageModel::block(const Layer& layer, const Tensor& x) const
{
    const ScopedRange range(layer.name);
    Tensor normed;
    {
        const ScopedRange inner("attention_norm");
        normed = norm(x, layer.attentionNorm);
    }
    const Tensor attended = attend(layer, normed, x);
    {
        const ScopedRange inner("ffn_norm");
        normed = norm(attended, layer.ffnNorm);
    }
    return feedForward(layer, normed, attended);
}

Tensor LanguageModel::attend(const Layer& layer, const Tensor& normed, const Tensor& x) const
{
    const ScopedRange range("attention");
    const auto [q, k, v] = splitHeads(at::mm(normed, layer.qkv), rotation_, groupsHeads_);
    const Tensor o = recomputedAttention_ ? recomputedInBackward(*recomputedAttention_, {q, k, v})
                                          : attention_->apply(q, k, v);
    return addProduct(x, mergeHeads(o, shape_.batch, shape_.heads), layer.projection);
}

Tensor LanguageModel::feedForward(const Layer& layer, const Tensor& normed, const Tensor& x) const
{
    const ScopedRange range("ffn");
    return addProduct(x, swiGlu(at::mm(normed, layer.gateUp)), layer.down);
}

Tensor LanguageModel::norm(const Tensor& x, const Tensor& weight) const
{
    return std::get<0>(at::_fused_rms_norm(x, {shape_.dModel}, weight, kNormEpsilon));
}

// x + y weight. Under autocast the residual stream stays in the parameters' dtype, which addmm would cast
// away.
Tensor LanguageModel::addProduct(const Tensor& x, const Tensor& y, const Tensor& weight) const
{
    if (at::autocast::is_autocast_enabled(x.device().type()))
        return at::add(x, at::mm(y, weight));
    return at::addmm(x, y, weight);
}

} // namespace tilescope::engine
