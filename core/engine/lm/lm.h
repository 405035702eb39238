#pragma once

#include "core/engine/attention/attention.h"
#include "core/engine/lm/lm_functions.h"
#include "core/engine/lm/recomputation.h"
#include "core/engine/lm/split_product.h"
#include "core/engine/parallel/parallelism.h"
#include "core/model/language_model.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>

#include <memory>
#include <optional>
#include <string>

namespace tilescope::engine {

class Device;

inline constexpr double kNormEpsilon = 1e-5;

/// \throws Error  the width is not a multiple of the heads, or the head dim is odd
void requireRotatable(const ExperimentSpec& spec);

/// Standard deviation of the initial weights: that of Glorot's method, for each of the packed maps separately.
double deviationOf(const LinearMap& map);

/// The random generator for the initial weights, on the CPU or a GPU; none for a device without random
/// numbers (meta). Each model has its own generator, so that ranks that are threads draw the same weights.
std::optional<at::Generator> weightSource(at::Device device, std::int64_t seed);

/// The operations of the language model, executed by LibTorch. Session thread.
class EagerOps {
public:
    using Tensor = at::Tensor;
    using Range = trace::ScopedRange;

    /// \param options        dtype and device of the parameters
    /// \param attentionType  of the inputs of attention
    /// \param parallelism  shared by the ranks; must outlive this object; null: this process alone
    /// \throws Unsupported, Error
    EagerOps(const ExperimentSpec& spec, at::TensorOptions options, const AttentionSpec& attention,
             at::ScalarType attentionType, Parallelism* parallelism = nullptr);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens) const
    {
        return at::embedding(weight, tokens);
    }
    Tensor rmsNorm(const Tensor& x, const Tensor& weight) const;
    Tensor mm(const Tensor& x, const Tensor& weight) const
    {
        return splitsProducts_ ? splitMm(x, weight) : at::mm(x, weight);
    }
    Tensor add(const Tensor& x, const Tensor& y) const { return at::add(x, y); }
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) const { return at::addmm(x, a, b); }
    bool addsProducts() const;
    TensorTriple<Tensor> splitHeads(const Tensor& qkv) const
    {
        return engine::splitHeads(qkv, rotation_, groupsHeads_);
    }
    Tensor mergeHeads(const Tensor& o) const { return engine::mergeHeads(o, batch_, heads_); }
    Tensor attention(const TensorTriple<Tensor>& qkv) const
    {
        return attention_->apply(qkv[0], qkv[1], qkv[2]);
    }
    Tensor swiGlu(const Tensor& gateUp) const { return engine::swiGlu(gateUp); }
    Tensor enterBlock(std::int64_t block, const Tensor& x) const
    {
        return parallelism_ ? parallelism_->enterBlock(block, x) : x;
    }
    Tensor leaveBlock(std::int64_t block, const Tensor& x) const
    {
        return parallelism_ ? parallelism_->leaveBlock(block, x) : x;
    }
    bool dividesLayers() const { return parts_ > 1; }
    Tensor intoParts(const Tensor& x) const { return dividesLayers() ? parallelism_->intoParts(x) : x; }
    Tensor sumOfParts(const Tensor& y) const { return dividesLayers() ? parallelism_->sumOfParts(y) : y; }
    Tensor recomputedInBackward(const RecomputedPart& part, const TensorTriple<Tensor>& inputs) const
    {
        return engine::recomputedInBackward(part, inputs);
    }

    /// Number of elements in the weights of all ranks together.
    std::int64_t weightElements() const { return weightElements_; }

    /// Visits the tensors kept between calls: the rotation and those of the attention backend.
    void visitHeld(const HoldVisitor& visit) const;

private:
    /// The parameter that the model uses in place of a new weight: see Parallelism::placed().
    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* map = nullptr);

    std::int64_t batch_;
    std::int64_t parts_; ///< ranks that divide a layer
    std::int64_t heads_; ///< number of heads of this rank
    bool splitsProducts_;
    at::TensorOptions options_;
    std::optional<at::Generator> weightSource_;
    Parallelism* parallelism_;
    std::int64_t weightElements_ = 0;
    std::unique_ptr<AttentionBackend> attention_;
    bool groupsHeads_;
    Rotation rotation_;
};

using LanguageModel = tilescope::LanguageModel<EagerOps>;

/// The operations of a spec's model, with attention in the dtype of autocast.
EagerOps eagerOps(const ExperimentSpec& spec, const Device& device, Parallelism* parallelism = nullptr);

} // namespace tilescope::engine
