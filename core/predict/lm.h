#pragma once

#include "core/model/language_model.h"
#include "core/predict/attention.h"
#include "core/predict/parallel_memory.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::predict {

/// The operations of the language model, counted: the allocations and the work of core/engine's EagerOps.
class CountedOps {
public:
    using Tensor = predict::Tensor;
    struct Range {
        explicit Range(std::string_view) {}
    };

    CountedOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens);
    Tensor rmsNorm(const Tensor& x, const Tensor& weight) { return ops_.rmsNorm(x, weight, tokens_); }
    Tensor mm(const Tensor& x, const Tensor& weight);
    Tensor add(const Tensor& x, const Tensor& y) { return ops_.add(x, y); }
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) { return ops_.addmm(x, a, b); }
    bool addsProducts() const { return ops_.splitsProducts() || ops_.autocast().has_value(); }
    Tensors splitHeads(const Tensor& qkv);
    Tensor mergeHeads(const Tensor& o);
    Tensor attention(const Tensors& qkv) { return attention_->apply(qkv[0], qkv[1], qkv[2]); }
    Tensor swiGlu(const Tensor& gateUp) { return ops_.swiGlu(gateUp); }
    Tensor enterBlock(std::int64_t block, const Tensor& x)
    {
        return parallel_ ? parallel_->enterBlock(block, x) : x;
    }
    Tensor leaveBlock(std::int64_t block, const Tensor& x)
    {
        return parallel_ ? parallel_->leaveBlock(block, x) : x;
    }
    bool dividesLayers() const { return parts_ > 1; }
    // Sums over ranks are in place.
    Tensor intoParts(const Tensor& x) { return x; }
    Tensor sumOfParts(const Tensor& y) { return y; }
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const Tensors& inputs);

    /// The gradients of the parameters, and of the inputs of a recomputed part.
    Leaves& leaves() { return *leaves_; }
    /// How the rank shares the model with other ranks; null without ranks.
    ParallelMemory* parallel() { return parallel_.get(); }

private:
    Tensor weight(const std::string& name, std::int64_t count, const LinearMap* map, const char* what);
    Tensors splitHeadsBackward(const Tensors& gradients);
    Tensors recompute(const ModelPart<Tensor>& part, Tensors inputs, std::optional<Type> autocast,
                      const Tensor& gradient);

    Ops& ops_;
    std::int64_t tokens_;
    std::int64_t dModel_;
    std::int64_t parts_; ///< ranks that divide a layer
    bool movesHeads_;    ///< merged heads have another layout
    bool groupsHeads_;
    std::unique_ptr<AttentionMemory> attention_;
    std::vector<Storage> rotations_;
    std::int32_t parameters_ = 0;
    std::unique_ptr<Leaves> leaves_;
    std::unique_ptr<ParallelMemory> parallel_; ///< uses the leaves
};

using LanguageModel = tilescope::LanguageModel<CountedOps>;

} // namespace tilescope::predict
