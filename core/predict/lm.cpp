#include "core/predict/lm.h"

#include "core/model/attention_backend.h"
#include "core/model/parallelism.h"

#include <utility>

namespace tilescope::predict {

namespace {

/// The attention of one of `parts` ranks, which divide the heads.
TypedAttention attentionOfPart(const ExperimentSpec& spec, std::int64_t parts)
{
    TypedAttention call = attentionCall(spec);
    call.heads /= parts;
    call.kvHeads /= parts;
    return call;
}

} // namespace

CountedOps::CountedOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
    : ops_(ops), tokens_(spec.batch * spec.context), dModel_(spec.dModel), parts_(gridOf(spec).tensor),
      movesHeads_(spec.heads / parts_ > 1 && spec.context > 1),
      groupsHeads_(traitsOf(spec.backend).groupsHeads),
      attention_(makeAttention(spec.backend, attentionOfPart(spec, parts_), device, ops)),
      leaves_(std::make_unique<Leaves>()), parallel_(makeParallelMemory(spec, ops, *leaves_))
{
    const std::int64_t rotations = 3 * spec.context * (spec.dModel / spec.heads / 2);
    for (const char* what : {"rotation", "rotation of gradients"})
        rotations_.push_back(
            ops.memory().make(rotations * bytesOf(Type::Complex64), MemoryCategory::Inputs, what));
    ops.allowTf32(spec.precision == Precision::Tf32);
    ops.splitProducts(spec.precision == Precision::Fp32x6);
}

Tensor CountedOps::embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width)
{
    return weight(name, rows * width, nullptr, "embedding");
}

Tensor CountedOps::normWeight(const std::string& name, std::int64_t width)
{
    return weight(name, width, nullptr, "norm");
}

Tensor CountedOps::linearWeight(const std::string& name, const LinearMap& map)
{
    return weight(name, map.in * map.out, &map, map.name);
}

Tensor CountedOps::weight(const std::string& name, std::int64_t count, const LinearMap* map, const char* what)
{
    const std::int32_t leaf = parameters_++;
    leaves_->gradients.resize(static_cast<std::size_t>(parameters_) + kArity);
    if (parallel_)
        return parallel_->placed(name, count, map, leaf);
    Tensor w{.count = count};
    w.storage = ops_.memory().make(w.bytes(), MemoryCategory::Parameters, what);
    w.origin.leaf = leaf;
    return w;
}

Tensor CountedOps::embedding(const Tensor& weight, const Tensor& tokens)
{
    return ops_.embedding(weight, tokens.count, dModel_);
}

// One row per token.
Tensor CountedOps::mm(const Tensor& x, const Tensor& weight)
{
    const std::int64_t width = x.count / tokens_;
    return ops_.mm(x, weight, tokens_ * (weight.count / width));
}

// q, k and v in one block, rotated in fp32 and cast back.
Tensors CountedOps::splitHeads(const Tensor& qkv)
{
    Tensor heads = ops_.make(qkv.count, Type::Float32, "q, k and v by head");
    {
        const Tensor wide = ops_.to(qkv, Type::Float32, "q, k and v, widened");
    }
    ops_.moves(2 * heads.bytes());
    if (qkv.type != heads.type) {
        ops_.moves(heads.bytes() + qkv.bytes());
        heads = ops_.make(qkv.count, qkv.type, "q, k and v by head");
    }
    heads.origin = {};
    ops_.record(heads, {&qkv}, {}, [this](const Tensors& g) { return splitHeadsBackward(g); });
    heads.count /= 3;
    Tensors views{heads, heads, heads};
    for (std::int32_t i = 0; i < 3; ++i)
        views[i].origin.output = i;
    return views;
}

Tensors CountedOps::splitHeadsBackward(const Tensors& gradients)
{
    const Type type = gradients[0].type;
    Tensor packed = ops_.make(3 * gradients[0].count, Type::Float32, "gradient of q, k and v");
    for (const Tensor& g : gradients) {
        const std::int64_t wideBytes = g.count * bytesOf(Type::Float32);
        Storage wide = g.storage;
        ops_.moves(2 * wideBytes);
        if (type != Type::Float32) {
            ops_.moves(g.bytes() + wideBytes);
            wide = ops_.temporary(wideBytes, "gradient of heads, widened");
        }
        if (g.isTransposed) {
            ops_.moves(2 * wideBytes);
            wide = ops_.temporary(wideBytes, "gradient of heads, in order");
        }
    }
    if (type != Type::Float32) {
        ops_.moves(packed.bytes() * 3 / 2);
        packed = ops_.make(packed.count, type, "gradient of q, k and v");
    }
    return {packed};
}

// Copies to the layout (rows, heads); not needed for a single head.
Tensor CountedOps::mergeHeads(const Tensor& o)
{
    Tensor merged = o;
    if (movesHeads_ && !o.isTransposed) {
        merged = ops_.make(o.count, o.type, "heads, merged");
        ops_.moves(2 * o.bytes());
    }
    merged.isTransposed = false;
    merged.origin = {};
    ops_.record(merged, {&o}, {}, [this](const Tensors& g) -> Tensors {
        Tensor byHead = g[0];
        if (movesHeads_ && groupsHeads_) {
            ops_.moves(2 * g[0].bytes());
            byHead = ops_.make(g[0].count, g[0].type, "gradient by head");
        } else {
            byHead.isTransposed = movesHeads_; // a view; the kernels support its strides
        }
        return {byHead};
    });
    return merged;
}

Tensor CountedOps::recomputedInBackward(const ModelPart<Tensor>& part, const Tensors& inputs)
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
                [this, &part, inputs, autocast = ops_.autocast()](const Tensors& g) {
                    return recompute(part, inputs, autocast, g[0]);
                });
    return output;
}

Tensors CountedOps::recompute(const ModelPart<Tensor>& part, Tensors inputs, std::optional<Type> autocast,
                              const Tensor& gradient)
{
    const auto firstInput = parameters_;
    // Parts nest: an outer one may have gradients of its own inputs already.
    Tensors outer;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(kArity); ++i) {
        inputs[i].origin = inputs[i].origin.needsGradient() ? Origin{.leaf = firstInput + i} : Origin{};
        outer[i] = std::exchange(leaves_->gradients[firstInput + i], {});
    }
    Graph graph(ops_.memory());
    Tensor output;
    {
        const Ops::Recording recording(ops_, &graph);
        const Ops::Autocast cast(ops_, autocast);
        output = part(inputs);
    }
    graph.run(output, gradient, *leaves_);
    Tensors result;
    for (std::size_t i = 0; i < kArity; ++i)
        result[i] = std::exchange(leaves_->gradients[firstInput + i], std::move(outer[i]));
    return result;
}

} // namespace tilescope::predict
