#pragma once

#include "core/predict/attention.h"

#include <functional>
#include <memory>
#include <vector>

namespace tilescope::predict {

/// The language model of core/engine in memory: the same operations in the same order, with sizes for values.
class LanguageModel {
public:
    LanguageModel(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops);

    /// Logits of the tokens.
    Tensor forward();

    const std::vector<Tensor>& parameters() const { return parameters_; }
    Leaves& leaves() { return leaves_; }

private:
    struct Layer {
        Tensor attentionNorm;
        Tensor qkv;
        Tensor projection;
        Tensor ffnNorm;
        Tensor gateUp;
        Tensor down;
    };
    /// A part of the model from three inputs, as engine::RecomputedPart.
    using Part = std::function<Tensor(const Tensors&)>;

    Tensor weight(std::int64_t count, const char* what);
    Tensor block(const Layer& layer, const Tensor& x);
    Tensor attend(const Layer& layer, const Tensor& normed, const Tensor& x);
    Tensor feedForward(const Layer& layer, const Tensor& normed, const Tensor& x);
    Tensor norm(const Tensor& x, const Tensor& weight);
    Tensor addProduct(const Tensor& x, const Tensor& y, const Tensor& weight);
    Tensors splitHeads(const Tensor& qkv);
    Tensors splitHeadsBackward(const Tensors& gradients);
    Tensor mergeHeads(const Tensor& o);
    Tensor coreAttention(const Tensors& qkv);
    Tensor recomputedInBackward(const Part& part, const Tensors& inputs);
    Tensors recompute(const Part& part, Tensors inputs, std::optional<Type> autocast, const Tensor& gradient);

    Ops& ops_;
    ExperimentSpec spec_;
    std::int64_t tokens_;
    std::unique_ptr<AttentionMemory> attention_;
    std::vector<Storage> rotations_;
    Tensor embedding_;
    std::vector<Layer> layers_;
    Tensor norm_;
    Tensor head_;
    std::vector<Tensor> parameters_;
    Leaves leaves_; ///< of parameters, and of the inputs of a part that is computed again
};

} // namespace tilescope::predict
