#include "core/predict/lm.h"

#include "core/model/attention_backend.h"

#include <algorithm>
#include <utility>

namespace tilescope::predict {

LanguageModel::LanguageModel(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
    : ops_(ops), spec_(spec), tokens_(spec.batch * spec.context),
      attention_(makeAttention(spec.backend, attentionOfLm(spec), device, ops))
{
    const std::int64_t d = spec.dModel;
    const std::int64_t f = spec.dFf;
    const std::int64_t turns = 3 * spec.context * (d / spec.heads / 2);
    for (const char* what : {"rotation", "rotation of gradients"})
        rotations_.push_back(
            ops.memory().make(turns * bytesOf(Type::Complex64), MemoryCategory::Inputs, what));
    embedding_ = weight(spec.vocab * d, "embedding");
    for (std::int64_t i = 0; i < spec.layers; ++i) {
        Layer& layer = layers_.emplace_back();
        layer.attentionNorm = weight(d, "attention norm");
        layer.qkv = weight(3 * d * d, "qkv");
        layer.projection = weight(d * d, "projection");
        layer.ffnNorm = weight(d, "ffn norm");
        layer.gateUp = weight(2 * d * f, "gate and up");
        layer.down = weight(f * d, "down");
    }
    norm_ = weight(d, "norm");
    head_ = weight(d * spec.vocab, "head");
    ops.allowTf32(spec.precision == Precision::Tf32);
    leaves_.gradients.resize(parameters_.size() + kArity);
}

Tensor LanguageModel::weight(std::int64_t count, const char* what)
{
    Tensor w{.count = count};
    w.storage = ops_.memory().make(w.bytes(), MemoryCategory::Parameters, what);
    w.origin.leaf = static_cast<std::int32_t>(parameters_.size());
    parameters_.push_back(w);
    return w;
}

Tensor LanguageModel::forward()
{
    Tensor x = ops_.embedding(embedding_, tokens_, spec_.dModel);
    const bool recomputes = spec_.checkpointing.kind == Checkpointing::Kind::Block;
    const std::size_t every = recomputes ? static_cast<std::size_t>(spec_.checkpointing.every) : 1;
    for (std::size_t begin = 0; begin < layers_.size(); begin += every) {
        const std::size_t end = std::min(begin + every, layers_.size());
        if (!recomputes) {
            x = block(layers_[begin], x);
            continue;
        }
        const Part blocks = [this, begin, end](const Tensors& inputs) {
            Tensor y = inputs[0];
            for (std::size_t i = begin; i < end; ++i)
                y = block(layers_[i], y);
            return y;
        };
        x = recomputedInBackward(blocks, {x});
    }
    x = norm(x, norm_);
    return ops_.mm(x, head_, tokens_ * spec_.vocab);
}

Tensor LanguageModel::block(const Layer& layer, const Tensor& x)
{
    Tensor normed = norm(x, layer.attentionNorm);
    const Tensor attended = attend(layer, normed, x);
    normed = norm(attended, layer.ffnNorm);
    return feedForward(layer, normed, attended);
}

Tensor LanguageModel::attend(const Layer& layer, const Tensor& normed, const Tensor& x)
{
    const Tensors qkv = splitHeads(ops_.mm(normed, layer.qkv, 3 * tokens_ * spec_.dModel));
    Tensor o;
    if (spec_.checkpointing.kind == Checkpointing::Kind::Attention)
        o = recomputedInBackward([this](const Tensors& inputs) { return coreAttention(inputs); }, qkv);
    else
        o = coreAttention(qkv);
    return addProduct(x, mergeHeads(o), layer.projection);
}

Tensor LanguageModel::coreAttention(const Tensors& qkv)
{
    return attention_->apply(qkv[0], qkv[1], qkv[2]);
}

Tensor LanguageModel::feedForward(const Layer& layer, const Tensor& normed, const Tensor& x)
{
    return addProduct(x, ops_.swiGlu(ops_.mm(normed, layer.gateUp, 2 * tokens_ * spec_.dFf)), layer.down);
}

Tensor LanguageModel::norm(const Tensor& x, const Tensor& weight)
{
    return ops_.rmsNorm(x, weight, tokens_);
}

// Under autocast the residual stream stays in the parameters' type, which one operation would cast away.
Tensor LanguageModel::addProduct(const Tensor& x, const Tensor& y, const Tensor& weight)
{
    if (!ops_.autocast())
        return ops_.addmm(x, y, weight);
    return ops_.add(x, ops_.mm(y, weight, x.count));
}

// One block for q, k and v: rotated in fp32, then cast to what came in.
Tensors LanguageModel::splitHeads(const Tensor& qkv)
{
    Tensor heads = ops_.make(qkv.count, Type::Float32, "q, k and v by head");
    {
        const Tensor wide = ops_.to(qkv, Type::Float32, "q, k and v, widened");
    }
    ops_.moves(2 * heads.bytes());
    if (qkv.type != heads.type)
        ops_.moves(heads.bytes() + qkv.bytes());
    if (qkv.type != heads.type)
        heads = ops_.make(qkv.count, qkv.type, "q, k and v by head");
    heads.origin = {};
    ops_.record(heads, {&qkv}, {}, [this](const Tensors& g) { return splitHeadsBackward(g); });
    heads.count /= 3;
    Tensors views{heads, heads, heads};
    for (std::int32_t i = 0; i < 3; ++i)
        views[i].origin.output = i;
    return views;
}

Tensors LanguageModel::splitHeadsBackward(const Tensors& gradients)
{
    const Type type = gradients[0].type;
    Tensor packed = ops_.make(3 * gradients[0].count, Type::Float32, "gradient of q, k and v");
    for (const Tensor& g : gradients) {
        Tensor wide = g;
        ops_.moves(2 * g.count * bytesOf(Type::Float32));
        if (type != Type::Float32)
            ops_.moves(g.bytes() + g.count * bytesOf(Type::Float32));
        if (g.isTransposed)
            ops_.moves(2 * g.count * bytesOf(Type::Float32));
        if (type != Type::Float32)
            wide.storage = ops_.temporary(g.count * bytesOf(Type::Float32), "gradient of heads, widened");
        if (g.isTransposed)
            wide.storage = ops_.temporary(g.count * bytesOf(Type::Float32), "gradient of heads, in order");
    }
    if (type != Type::Float32)
        ops_.moves(packed.bytes() * 3 / 2);
    if (type != Type::Float32)
        packed = ops_.make(packed.count, type, "gradient of q, k and v");
    return {packed};
}

// A copy with heads behind rows; one head is there already.
Tensor LanguageModel::mergeHeads(const Tensor& o)
{
    const bool moves = spec_.heads > 1 && spec_.context > 1;
    Tensor merged = o;
    if (moves && !o.isTransposed)
        merged = ops_.make(o.count, o.type, "heads, merged");
    if (moves && !o.isTransposed)
        ops_.moves(2 * o.bytes());
    merged.isTransposed = false;
    merged.origin = {};
    ops_.record(merged, {&o}, {}, [this, moves](const Tensors& g) -> Tensors {
        Tensor byHead = g[0];
        if (moves && traitsOf(spec_.backend).groupsHeads)
            ops_.moves(2 * g[0].bytes());
        // Where heads stay apart this is a view, which the kernels read as it lies.
        if (moves && traitsOf(spec_.backend).groupsHeads)
            byHead = ops_.make(g[0].count, g[0].type, "gradient by head");
        else
            byHead.isTransposed = moves;
        return {byHead};
    });
    return merged;
}

Tensor LanguageModel::recomputedInBackward(const Part& part, const Tensors& inputs)
{
    if (!ops_.recordsGraph())
        return part(inputs);
    Tensor output;
    {
        const Ops::Recording none(ops_, nullptr);
        output = part(inputs);
    }
    output.origin = {};
    ops_.record(output, {&inputs[0], &inputs[1], &inputs[2]}, {&inputs[0], &inputs[1], &inputs[2]},
                [this, part, inputs, autocast = ops_.autocast()](const Tensors& g) {
                    return recompute(part, inputs, autocast, g[0]);
                });
    return output;
}

Tensors LanguageModel::recompute(const Part& part, Tensors inputs, std::optional<Type> autocast,
                                 const Tensor& gradient)
{
    const auto firstInput = static_cast<std::int32_t>(parameters_.size());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(kArity); ++i)
        inputs[i].origin = inputs[i].origin.needsGradient() ? Origin{.leaf = firstInput + i} : Origin{};
    Graph graph(ops_.memory());
    Tensor output;
    {
        const Ops::Recording recording(ops_, &graph);
        const Ops::Autocast cast(ops_, autocast);
        output = part(inputs);
    }
    graph.run(output, gradient, leaves_);
    Tensors result;
    for (std::size_t i = 0; i < kArity; ++i)
        result[i] = std::exchange(leaves_.gradients[firstInput + i], {});
    return result;
}

} // namespace tilescope::predict
