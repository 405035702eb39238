#pragma once

#include "core/engine/attention/attention.h"
#include "core/engine/lm/kv_cache.h"
#include "core/model/language_model.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace tilescope::engine {

class Device;

/// The operations of the language model in generation, executed by LibTorch without autograd. Weights, activations,
/// keys and values are in the precision of the spec; with weights: fp8, the weights of products are in E4M3 with one
/// scale per output. Session thread.
///
/// A forward pass takes `tokens` positions of each sequence, from position `first` on: see setPositions(). Several passes
/// after another share the cache.
class GenerationOps {
public:
    using Tensor = at::Tensor;
    using Range = trace::ScopedRange;

    /// How the rotary embedding is applied: into new tensors, with the scale of the scores in q; or in the packed
    /// projection, and the scores are scaled.
    enum class Rotating { Apart, InPlace };

    /// Draws the same weights for all dtypes, rounded to the precision of the spec.
    /// \param options  dtype and device: the precision of the spec, or fp64 for a reference with the same weights
    /// \throws Unsupported, Error
    GenerationOps(const ExperimentSpec& spec, at::TensorOptions options, Rotating rotating = Rotating::Apart);

    /// The positions of the next pass: 0 to context - 1 at once (prefill), then one at a time (decode).
    void setPositions(std::int64_t first, std::int64_t tokens)
    {
        first_ = first;
        tokens_ = tokens;
    }

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens) const
    {
        return at::embedding(weight, tokens);
    }
    Tensor rmsNorm(const Tensor& x, const Tensor& weight) const;
    Tensor mm(const Tensor& x, const Tensor& weight) const;
    Tensor add(const Tensor& x, const Tensor& y) const { return at::add(x, y); }
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) const;
    bool addsProducts() const { return false; }
    TensorTriple<Tensor> splitHeads(const Tensor& qkv) const;
    Tensor mergeHeads(const Tensor& o) const;
    Tensor attention(const TensorTriple<Tensor>& qkv);
    Tensor swiGlu(const Tensor& gateUp) const;
    Tensor enterBlock(std::int64_t block, const Tensor& x)
    {
        layer_ = block;
        return x;
    }
    Tensor leaveBlock(std::int64_t /*block*/, const Tensor& x) const { return x; }
    bool dividesLayers() const { return false; }
    Tensor intoParts(const Tensor& x) const { return x; }
    Tensor sumOfParts(const Tensor& y) const { return y; }
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs) const
    {
        return part(inputs);
    }
    /// The last position of each sequence, unless keepAllRows().
    Tensor rowsOfHead(const Tensor& x) const;
    void keepAllRows() { keepsAllRows_ = true; }

    std::int64_t weightElements() const { return weightElements_; }
    /// Visits the tensors kept between steps, apart from the weights: cache, rotation, scales.
    void visitHeld(const HoldVisitor& visit) const;

protected:
    /// q, k and v as views of the packed projection, in which q and k are rotated. Rotating::InPlace only. Of one new token
    /// on a GPU, keys and values are written to the cache instead.
    TensorTriple<Tensor> headsRotatedInPlace(const Tensor& qkv) const;
    bool isOneRow() const { return tokens_ == 1; }
    /// mm() by the kernel for few rows, which reads a weight of E4M3 without a copy in bf16.
    Tensor rowsProduct(const Tensor& x, const Tensor& weight) const;

private:
    Tensor drawn(const Tensor& wide);
    Tensor rotated(const Tensor& heads, const Tensor& turns) const;
    /// Heads as attention takes them: (batch, heads, n, d) or, grouped, (batch·kvHeads, heads/kvHeads·n, d).
    Tensor grouped(const Tensor& heads) const;
    bool storesWhileRotating() const { return storesInPlace_ && tokens_ == 1 && first_ > 0; }
    /// Of one new token, without a copy of the pages.
    Tensor attentionByPages(const Tensor& q, const KvCache::Pages& pages) const;
    const Tensor* scalesOf(const Tensor& weight) const;

    std::int64_t batch_;
    std::int64_t heads_;
    std::int64_t kvHeads_;
    std::int64_t headDim_;
    at::TensorOptions options_;
    at::ScalarType rounding_; ///< to which weights are rounded
    bool weightsAreFp8_;
    bool groupsHeads_;
    std::optional<at::Generator> weightSource_;
    std::int64_t weightElements_ = 0;
    std::unordered_map<const void*, Tensor> scales_; ///< of fp8 weights, by the address of their values
    /// Of q, scaled, and of k: (positions, d/2) complex. Rotating::InPlace: the first alone, (positions, d/2, 2).
    std::array<Tensor, 2> turns_;
    std::unique_ptr<KvCache> cache_;
    std::unique_ptr<AttentionBackend> prefill_;
    std::unique_ptr<AttentionBackend> decode_;
    std::int64_t first_ = 0;
    std::int64_t tokens_ = 0;
    std::int64_t layer_ = 0;
    bool keepsAllRows_ = false;
    bool storesInPlace_ = false; ///< Rotating::InPlace on a GPU
    bool readsPages_ = false;    ///< the decode kernel reads a cache by pages
    double scale_ = 1;           ///< of the scores, in attention
};

using GenerationModel = tilescope::LanguageModel<GenerationOps>;

} // namespace tilescope::engine
