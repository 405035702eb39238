#pragma once

#include "core/model/fused_recomputation.h"
#include "core/model/spec.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope {

/// A weight (in, out) of the language model.
struct LinearMap {
    /// How tensor parallelism divides it among ranks.
    enum class Division { None, Columns, Rows };

    const char* module = ""; ///< the range around its product
    const char* name = "";
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t packed =
        1; ///< maps side by side, each initialised as if it were alone and had an equal part
    Division division = Division::None;
};

/// The width of the keys of all heads, and of the values: kv_heads share them in mode generate only.
inline std::int64_t keyWidth(const ExperimentSpec& spec)
{
    return spec.mode == Mode::Generate ? spec.kvHeads * (spec.dModel / spec.heads) : spec.dModel;
}

/// qkv, projection, gate_up and down of one block, in the order of the forward pass. Attention follows qkv.
inline std::array<LinearMap, 4> blockMaps(const ExperimentSpec& spec)
{
    using enum LinearMap::Division;
    const std::int64_t d = spec.dModel;
    return {{{"attention", "qkv", d, d + 2 * keyWidth(spec), 3, Columns},
             {"attention", "projection", d, d, 1, Rows},
             {"ffn", "gate_up", d, 2 * spec.dFf, 2, Columns},
             {"ffn", "down", spec.dFf, d, 1, Rows}}};
}

inline LinearMap headMap(const ExperimentSpec& spec)
{
    return {"lm_head", "lm_head", spec.dModel, spec.vocab};
}

/// q, k and v, or up to three inputs of a recomputed part.
template <class Tensor> using TensorTriple = std::array<Tensor, 3>;

/// A part of the model that backward computes again from its inputs. The other inputs are empty.
template <class Tensor> using ModelPart = std::function<Tensor(const TensorTriple<Tensor>&)>;

/// The operations of the language model. core/engine executes them, core/predict counts their memory and time.
template <class Ops>
concept LanguageModelOps = requires(Ops& ops, const typename Ops::Tensor& x,
                                    const TensorTriple<typename Ops::Tensor>& qkv,
                                    const ModelPart<typename Ops::Tensor>& part, const std::string& name,
                                    std::int64_t size, const LinearMap& map)
{
    // A named range that is open while the object lives.
    typename Ops::Range;
    {
        ops.embeddingWeight(name, size, size)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.normWeight(name, size)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.linearWeight(name, map)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.embedding(x, x)
        } -> std::same_as<typename Ops::Tensor>; // weight, tokens
    {
        ops.rmsNorm(x, x)
        } -> std::same_as<typename Ops::Tensor>; // input, weight
    {
        ops.mm(x, x)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.add(x, x)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.addmm(x, x, x)
        } -> std::same_as<typename Ops::Tensor>; // x + a b
    {
        ops.addsProducts()
        } -> std::same_as<bool>; // whether x + a b is an mm and an add: addmm would cast x, or does not exist
    // (rows, 3·heads·d) to q, k and v by head, q and k rotated; and the inverse for attention's output.
    {
        ops.splitHeads(x)
        } -> std::same_as<TensorTriple<typename Ops::Tensor>>;
    {
        ops.mergeHeads(x)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.attention(qkv)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.swiGlu(x)
        } -> std::same_as<typename Ops::Tensor>; // silu(x[:, :f]) * x[:, f:]
    // Around a block, by its number.
    {
        ops.enterBlock(size, x)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.leaveBlock(size, x)
        } -> std::same_as<typename Ops::Tensor>;
    // Around products whose weights are divided among ranks: before those divided by columns, after those divided by
    // rows.
    {
        ops.dividesLayers()
        } -> std::same_as<bool>;
    {
        ops.intoParts(x)
        } -> std::same_as<typename Ops::Tensor>;
    {
        ops.sumOfParts(x)
        } -> std::same_as<typename Ops::Tensor>;
    // Keeps only the inputs for backward. The part outlives the graph.
    {
        ops.recomputedInBackward(part, qkv)
        } -> std::same_as<typename Ops::Tensor>;
};

/// A decoder with RMSNorm before each part, rotary positions, causal multi-head attention, SwiGLU, no biases,
/// and separate weights for embedding and head.
///
/// q, k and v come from one product, gate and up from another: the same values as separate products, in fewer
/// and larger ones. Activations are (batch·context, width).
template <LanguageModelOps Ops> class LanguageModel {
public:
    using Tensor = typename Ops::Tensor;

    LanguageModel(const ExperimentSpec& spec, Ops ops) : spec_(spec), ops_(std::move(ops))
    {
        embedding_ = added("embedding", ops_.embeddingWeight("embedding", spec.vocab, spec.dModel));
        addLayers();
        norm_ = norm("norm");
        head_ = added("lm_head", ops_.linearWeight("lm_head", headMap(spec)));
        addRecomputedParts();
    }
    LanguageModel(const LanguageModel&) = delete;
    LanguageModel& operator=(const LanguageModel&) = delete;

    /// Logits (batch·context, vocab) of tokens (batch·context). Ops with rowsOfHead() choose the rows that get logits.
    Tensor forward(const Tensor& tokens)
    {
        Tensor x;
        {
            const Range range("embedding");
            x = ops_.embedding(embedding_, tokens);
        }
        x = blocks(recomputedBlocks_, 0, layers_.size(), std::move(x)); // freed with its block
        if constexpr (requires { ops_.rowsOfHead(x); })
            x = ops_.rowsOfHead(x);
        {
            const Range range("norm");
            x = ops_.rmsNorm(x, norm_);
        }
        const Range range("lm_head");
        return ops_.mm(x, head_);
    }

    const std::vector<Tensor>& parameters() const { return parameters_; }
    /// The name of each parameter by its module: layers.3/ffn/down.
    const std::vector<std::string>& parameterNames() const { return parameterNames_; }
    Ops& ops() { return ops_; }
    const Ops& ops() const { return ops_; }

private:
    using Range = typename Ops::Range;
    using Triple = TensorTriple<Tensor>;

    struct Layer {
        std::int64_t number = 0;
        std::string name; // layers.3
        Tensor attentionNorm;
        Tensor qkv;
        Tensor projection;
        Tensor ffnNorm;
        Tensor gateUp;
        Tensor down;
    };

    // A segment of recomputedSegments() as a part of this model. It does not move once it is made.
    struct RecomputedBlocks {
        std::size_t end = 0;
        std::vector<RecomputedBlocks> inner = {};
        ModelPart<Tensor> part = {};
    };

    // The blocks of [begin, end), which starts with `recomputed`.
    Tensor blocks(const std::vector<RecomputedBlocks>& recomputed, std::size_t begin, std::size_t end,
                  Tensor x)
    {
        for (const RecomputedBlocks& segment : recomputed) {
            x = ops_.recomputedInBackward(segment.part, {x});
            begin = segment.end;
        }
        for (; begin < end; ++begin)
            x = block(layers_[begin], x);
        return x;
    }

    Tensor block(const Layer& layer, const Tensor& input)
    {
        const Range range(layer.name);
        const Tensor x = ops_.enterBlock(layer.number, input);
        Tensor normed;
        {
            const Range inner("attention_norm");
            normed = ops_.rmsNorm(x, layer.attentionNorm);
        }
        const Tensor attended = attend(layer, normed, x);
        {
            const Range inner("ffn_norm");
            normed = ops_.rmsNorm(attended, layer.ffnNorm);
        }
        return ops_.leaveBlock(layer.number, feedForward(layer, normed, attended));
    }

    Tensor attend(const Layer& layer, const Tensor& normed, const Tensor& x)
    {
        const Range range("attention");
        const Triple qkv = ops_.splitHeads(ops_.mm(ops_.intoParts(normed), layer.qkv));
        const Tensor o =
            recomputedAttention_ ? ops_.recomputedInBackward(recomputedAttention_, qkv) : ops_.attention(qkv);
        return addProduct(x, ops_.mergeHeads(o), layer.projection);
    }

    Tensor feedForward(const Layer& layer, const Tensor& normed, const Tensor& x)
    {
        const Range range("ffn");
        return addProduct(x, ops_.swiGlu(ops_.mm(ops_.intoParts(normed), layer.gateUp)), layer.down);
    }

    // x + y weight. Under autocast addmm would cast the residual stream, which stays in the parameters' dtype; split
    // products have no addmm.
    Tensor addProduct(const Tensor& x, const Tensor& y, const Tensor& weight)
    {
        if (ops_.dividesLayers())
            return ops_.add(x, ops_.sumOfParts(ops_.mm(y, weight)));
        if (ops_.addsProducts())
            return ops_.add(x, ops_.mm(y, weight));
        return ops_.addmm(x, y, weight);
    }

    void addLayers()
    {
        const auto [qkv, projection, gateUp, down] = blockMaps(spec_);
        layers_.reserve(static_cast<std::size_t>(spec_.layers));
        for (std::int64_t i = 0; i < spec_.layers; ++i) {
            Layer& layer = layers_.emplace_back();
            layer.number = i;
            layer.name = "layers." + std::to_string(i);
            layer.attentionNorm = norm(layer.name + "/attention_norm");
            layer.qkv = linear(layer.name, qkv);
            layer.projection = linear(layer.name, projection);
            layer.ffnNorm = norm(layer.name + "/ffn_norm");
            layer.gateUp = linear(layer.name, gateUp);
            layer.down = linear(layer.name, down);
        }
    }

    Tensor linear(const std::string& layer, const LinearMap& map)
    {
        const std::string name = layer + "/" + map.module + "/" + map.name;
        return added(name, ops_.linearWeight(name, map));
    }

    Tensor norm(const std::string& name) { return added(name, ops_.normWeight(name, spec_.dModel)); }

    Tensor added(const std::string& name, Tensor parameter)
    {
        parameterNames_.push_back(name);
        parameters_.push_back(parameter);
        return parameter;
    }

    void addRecomputedParts()
    {
        if (spec_.checkpointing.kind == Checkpointing::Kind::Attention)
            recomputedAttention_ = [this](const Triple& qkv) { return ops_.attention(qkv); };
        recomputedBlocks_ = partsOf(recomputedSegments(spec_));
    }

    std::vector<RecomputedBlocks> partsOf(const std::vector<RecomputedSegment>& plan)
    {
        std::vector<RecomputedBlocks> parts(plan.size());
        for (std::size_t i = 0; i < plan.size(); ++i) {
            RecomputedBlocks& part = parts[i];
            part.end = static_cast<std::size_t>(plan[i].end);
            part.inner = partsOf(plan[i].inner);
            part.part = [this, &part, begin = static_cast<std::size_t>(plan[i].begin)](const Triple& inputs) {
                return blocks(part.inner, begin, part.end, inputs[0]);
            };
        }
        return parts;
    }

    ExperimentSpec spec_;
    Ops ops_;
    Tensor embedding_;
    std::vector<Layer> layers_;
    Tensor norm_;
    Tensor head_;
    std::vector<Tensor> parameters_;
    std::vector<std::string> parameterNames_;
    // With checkpointing: consecutive blocks, or attention between q, k, v and o.
    std::vector<RecomputedBlocks> recomputedBlocks_;
    ModelPart<Tensor> recomputedAttention_;
};

} // namespace tilescope
