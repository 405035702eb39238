#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/engine/common/side_stream.h"
#include "core/engine/lm/fp8_product.h"
#include "core/engine/lm/split_product.h"
#include "core/engine/lm/tuned_product.h"
#include "core/engine/parallel/parallelism.h"
#include "core/model/fused_tape.h"
#include "core/trace/host/range.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::engine {

/// What a weight of the fused model has in addition.
struct FusedWeight {
    /// Of a bf16 weight: weight and remainder together are the exact fp32 weight (kernels/include/lm.h). Row-major.
    at::Tensor remainder = {};
    /// Of a weight whose products are computed in 8 bits: the quantised weight. An update of `data` updates it, too.
    std::shared_ptr<const QuantizedWeight> quantized = {};
    /// Of a weight that does not change and whose products are computed from bf16 parts: these parts.
    std::shared_ptr<const WeightParts> parts = {};
};
using FusedValue = FusedTensor<at::Tensor, FusedWeight>;

/// A range that is also a component of the paths of later backward steps.
class FusedRange {
public:
    explicit FusedRange(std::string_view module,
                        std::source_location where = std::source_location::current());
    ~FusedRange();
    FusedRange(const FusedRange&) = delete;
    FusedRange& operator=(const FusedRange&) = delete;

private:
    trace::ScopedRange range_;
};

/// The arithmetic of the fused model.
struct FusedOptions {
    at::Device device = at::kCPU;
    at::ScalarType elements = at::kBFloat16; ///< type of the factors: bf16, fp32 or (CPU) fp64
    bool tf32 = false;                       ///< attention rounds fp32 to TF32
    bool splitsProducts = false;             ///< fp32 products from bf16 parts (split_product.h)
    bool quantizesProducts = false;          ///< bf16: products of layers and their input gradients in 8 bits
    bool deterministic = false;
    bool trains = false; ///< weights change: bf16 weights have remainders; parts of fp32 weights are not kept
    std::int64_t chunkRows = 0; ///< number of tokens whose logits exist at once; 0: all, kept for backward
};

/// The operations of the language model on the kernels of kernels/include/lm.h. Session thread.
///
/// Weights of products have the type FusedOptions::elements. Everything that autocast leaves in fp32 has the
/// type of sums: the residual stream, the embedding, norms and all gradients of parameters. Gradients of weights
/// are computed on a side stream.
///
/// Ranks may divide the weights (parallel: fsdp). The optimizer then updates the parts of
/// Parallelism::updated(), whose gradients arrive during backward(); the parameters have no `grad`.
class FusedOps : public FusedTape<FusedOps, FusedValue, SideStream> {
public:
    using Range = FusedRange;

    /// \throws Error  the spec's model does not support rotary positions
    /// \param parallelism  shared by the ranks; must outlive this object; null: this process alone
    FusedOps(const ExperimentSpec& spec, const FusedOptions& options, Parallelism* parallelism = nullptr);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width) const;
    Tensor normWeight(const std::string& name, std::int64_t width) const;
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    /// Updates a weight with the gradient gradient^T x, which is then not computed: the weight has no `grad` and its
    /// observer is not called. Called once the weight is not used again in the step; the current stream is that of
    /// gradients. Not of a head by chunks.
    using WeightUpdater =
        std::function<void(const Tensor& weight, const at::Tensor& gradient, const at::Tensor& x)>;
    void updateWithGradients(WeightUpdater updater) { updater_ = std::move(updater); }

    /// A product in 8 bits. The tensors are valid during the call.
    struct QuantizedCall {
        const Tensor& weight;
        bool isForward;           ///< false: computes the gradient of the input
        const at::Tensor& factor; ///< activations or gradients before quantisation
        const QuantizedRows& rows;
        const at::Tensor& result;
    };
    using QuantizedObserver = std::function<void(const QuantizedCall&)>;
    void observeQuantized(QuantizedObserver observer) { quantizedObserver_ = std::move(observer); }
    /// Sets whether weights with quantised values multiply in 8 bits (the default) or in bf16.
    void quantize(bool quantizes) { quantizes_ = quantizes; }

    /// The mean cross entropy of the model's output. Replaces the logits by their gradient. With `chunkRows`,
    /// the output has no logits; this function then computes logits and the gradients of the head in chunks
    /// of tokens.
    at::Tensor crossEntropy(const Tensor& logits, const at::Tensor& targets);

    void visitHeld(const HoldVisitor& visit) const;
    /// Calls `visit(path, op, tensor)` for each tensor kept for backward, in the order of forward.
    void visitSaved(
        const std::function<void(const std::string& path, const char* op, const at::Tensor&)>& visit) const;

private:
    friend FusedTape;

    /// Opens the ranges of a note, inside the current ones.
    class NoteRanges {
    public:
        NoteRanges() : outer_(now().size()) {}
        ~NoteRanges();
        NoteRanges(const NoteRanges&) = delete;
        NoteRanges& operator=(const NoteRanges&) = delete;

        void enter(const std::vector<std::string>& modules);
        /// The names of the open FusedRanges of this thread.
        static const std::vector<std::string>& now();

    private:
        std::size_t outer_;
        std::vector<std::unique_ptr<FusedRange>> open_;
    };

    at::Tensor placed(const std::string& name, const at::Tensor& whole, const LinearMap* map = nullptr) const;

    // Kernels of FusedTape.
    static bool isMade(const at::Tensor& data) { return data.defined(); }
    void keepForBackward(const Tensor& /*value*/) const {}
    Parallelism* parallel() const { return parallelism_; }
    void handOver(const Tensor& parameter);
    void storeIn8Bits(const Tensor& weight) const;
    at::Tensor embed(const Tensor& weight, const Tensor& tokens) const;
    at::Tensor embeddingGradient(const Tensor& weight, const Tensor& tokens,
                                 const at::Tensor& gradient) const;
    FusedNorm<at::Tensor> addRmsNorm(const at::Tensor& x, const at::Tensor& addend,
                                     const Tensor& weight) const;
    FusedNormGradients<at::Tensor> rmsNormBackward(const at::Tensor& gradY, const at::Tensor& x,
                                                   const Tensor& weight, const at::Tensor& rows,
                                                   const at::Tensor& residual) const;
    at::Tensor gradientOfNorm(const Tensor& weight) const;
    void sumParts(const Tensor& weight, const at::Tensor& parts) const;
    /// \param rows  of x, which knows its sizes
    at::Tensor weightProduct(const at::Tensor& x, const Tensor& weight, std::int64_t rows) const;
    at::Tensor inputGradient(const at::Tensor& gradient, const Tensor& weight) const;
    at::Tensor gradientLike(const Tensor& weight) const;
    bool updatesWithGradient(const Tensor& weight, const at::Tensor& x, const at::Tensor& gradient) const;
    void updateWithGradient(const Tensor& weight, const at::Tensor& x, const at::Tensor& gradient) const;
    /// \param sets  the gradient; otherwise adds to it
    void computeWeightGradient(const Tensor& weight, bool sets, const at::Tensor& x,
                               const at::Tensor& gradient) const;
    void rotate(const at::Tensor& packed, bool inverse) const;
    TensorTriple<at::Tensor> heads(const at::Tensor& packed) const;
    FusedAttention<at::Tensor> attentionForward(const TensorTriple<at::Tensor>& qkv, bool keeps) const;
    at::Tensor gradientOfHeads(const at::Tensor& packed) const;
    void attentionBackward(const Tensor& packed, const at::Tensor& gradO, const at::Tensor& o,
                           const at::Tensor& statistics) const;
    at::Tensor swiGluForward(const at::Tensor& gateUp) const;
    void swiGluBackward(const at::Tensor& gradient, const at::Tensor& gateUp) const;

    void setInputGradient(at::Tensor& target, const at::Tensor& gradient, const Tensor& weight) const;
    ProductChoice productChoice() const;
    at::Tensor crossEntropyByChunks(const at::Tensor& targets);

    std::int64_t batch_;
    std::int64_t batches_; ///< number of batches of all ranks together
    std::int64_t heads_;
    std::int64_t headDim_;
    std::int64_t context_;
    FusedOptions options_;
    at::ScalarType sums_;
    std::optional<at::Generator> weightSource_;
    at::Tensor rotation_; // (context, headDim / 2, 2): cosine and sine
    WeightUpdater updater_;
    QuantizedObserver quantizedObserver_;
    Parallelism* parallelism_;
    bool quantizes_ = true;
};

} // namespace tilescope::engine
