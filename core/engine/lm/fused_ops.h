#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/engine/common/side_stream.h"
#include "core/engine/lm/fp8_product.h"
#include "core/engine/lm/split_product.h"
#include "core/engine/lm/tuned_product.h"
#include "core/engine/parallel/parallelism.h"
#include "core/model/language_model.h"
#include "core/trace/host/range.h"

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::engine {

/// A tensor of the fused model with its gradient.
struct FusedValue {
    at::Tensor data;
    at::Tensor grad; ///< set in backward
    // Of the residual stream: a product that the next norm adds to `data`; a function that computes this
    // product, if deferred; and `grad` rounded for the products of backward.
    at::Tensor addend = {};
    std::function<at::Tensor()> addendLater = {};
    at::Tensor gradRounded = {};
    /// Of q, k and v: the packed projection that they are views of. It holds their gradients.
    std::shared_ptr<FusedValue> packed = {};
    /// Of the head's weight: whether its product is computed with the loss, in chunks of tokens.
    bool isByChunks = false;
    /// `data` is not kept for backward: the backward of the op that made it recomputes it and calls whenRecomputed once.
    bool isRecomputed = false;
    std::function<void(const at::Tensor&)> whenRecomputed = {};
    /// Computes `data`, which is deferred because nothing may need it in a recomputed block.
    std::function<at::Tensor()> later = {};
    /// Recomputes a product. For a sum in the residual stream: the product that was added to `base`. `data` is then
    /// dropped, and the backward of the norm repeats the addition.
    std::function<at::Tensor()> again = {};
    std::shared_ptr<FusedValue> base = {};
    /// Of a bf16 weight: weight and remainder together are the exact fp32 weight (kernels/include/lm.h). Row-major.
    at::Tensor remainder = {};
    /// Of a weight whose products are computed in 8 bits: the quantised weight. An update of `data` updates it, too.
    std::shared_ptr<const QuantizedWeight> quantized = {};
    /// Of a weight that does not change and whose products are computed from bf16 parts: these parts.
    std::shared_ptr<const WeightParts> parts = {};
};

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

/// The operations of the language model on the kernels of kernels/include/lm.h, without autograd: each
/// operation records its backward as a note, and backward() runs the notes in reverse. Session thread.
///
/// Weights of products have the type FusedOptions::elements. Everything that autocast leaves in fp32 has the
/// type of sums: the residual stream, the embedding, norms and all gradients of parameters. An addition to the
/// residual stream and the following norm are one kernel. Gradients of weights are computed on a side stream.
///
/// Recomputed blocks (checkpointing: block:K) keep the output of their attention in addition to the input of the
/// segment. Backward does not repeat the forward of attention or the last product of a segment. Other blocks drop the
/// outputs of their norms and the residual stream after attention; backward repeats one product to restore the latter.
///
/// Ranks may divide the weights (parallel: fsdp). The optimizer then updates the parts of
/// Parallelism::updated(), whose gradients arrive during backward(); the parameters have no `grad`.
class FusedOps {
public:
    using Tensor = std::shared_ptr<FusedValue>;
    using Range = FusedRange;

    /// \throws Error  the spec's model does not support rotary positions
    /// \param parallelism  shared by the ranks; must outlive this object; null: this process alone
    FusedOps(const ExperimentSpec& spec, const FusedOptions& options, Parallelism* parallelism = nullptr);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width) const;
    Tensor normWeight(const std::string& name, std::int64_t width) const;
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens);
    Tensor rmsNorm(const Tensor& x, const Tensor& weight);
    Tensor mm(const Tensor& x, const Tensor& weight);
    Tensor add(const Tensor& x, const Tensor& y);
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) { return add(x, mm(a, b)); }
    bool addsProducts() const { return false; }
    Tensor enterBlock(std::int64_t block, const Tensor& x);
    Tensor leaveBlock(std::int64_t block, const Tensor& x);
    // Every rank computes whole layers.
    bool dividesLayers() const { return false; }
    Tensor intoParts(const Tensor& x) const { return x; }
    Tensor sumOfParts(const Tensor& y) const { return y; }
    TensorTriple<Tensor> splitHeads(const Tensor& qkv);
    Tensor attention(const TensorTriple<Tensor>& qkv);
    Tensor mergeHeads(const Tensor& o) const { return o; } // attention's output has this layout
    Tensor swiGlu(const Tensor& gateUp);
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs);

    /// Sets whether the following operations record their backward.
    void record(bool recording) { recording_ = recording; }
    /// Called for each parameter once its gradient is queued and the step no longer needs its value. The
    /// current stream is then that of the gradient.
    using GradientObserver = std::function<void(const Tensor& parameter)>;
    void observeGradients(GradientObserver observer) { observer_ = std::move(observer); }

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

    /// Sets the gradients of all parameters, whose `grad` must be undefined. Starts from `output->grad` or,
    /// after a cross entropy in chunks, from the gradient of the head's input.
    void backward();
    /// Drops the notes of a step without a backward, or with a failed one.
    void forget();

    void visitHeld(const HoldVisitor& visit) const;
    /// Calls `visit(path, op, tensor)` for each tensor kept for backward, in the order of forward.
    void visitSaved(
        const std::function<void(const std::string& path, const char* op, const at::Tensor&)>& visit) const;

private:
    struct Note {
        std::vector<std::string> modules; // the ranges that were open when the note was recorded
        const char* op = "";
        std::vector<Tensor> saved;
        std::function<void()> backward;
    };
    /// The results of an attention that its backward needs.
    struct Attended {
        Tensor output;
        Tensor statistics;
    };

    at::Tensor placed(const std::string& name, const at::Tensor& whole, const LinearMap* map = nullptr) const;
    void note(const char* op, std::vector<Tensor> saved, std::function<void()> backward);
    void runNotes();
    void tellGradient(const Tensor& parameter);
    void quantizeBlock(std::int64_t block);
    void forgetQuantized(std::int64_t block);
    void handOverGradients();
    Attended attend(const TensorTriple<Tensor>& qkv);
    bool dropsSums() const { return keepsAttention_ && recording_ && !isRecomputing_; }
    at::Tensor weightProduct(const at::Tensor& x, const Tensor& weight) const;
    at::Tensor inputGradient(const at::Tensor& gradient, const Tensor& weight) const;
    void setInputGradient(at::Tensor& target, const at::Tensor& gradient, const Tensor& weight) const;
    void weightGradient(const Tensor& weight, const at::Tensor& x, const at::Tensor& gradient);
    void computeWeightGradient(const Tensor& weight, ProductTarget how, const at::Tensor& x,
                               const at::Tensor& gradient) const;
    ProductChoice productChoice() const;
    at::Tensor crossEntropyByChunks(const at::Tensor& targets);
    at::Tensor gradientLike(const Tensor& weight) const;
    TensorTriple<at::Tensor> heads(const at::Tensor& packed) const;

    std::int64_t batch_;
    std::int64_t batches_; ///< number of batches of all ranks together
    std::int64_t heads_;
    std::int64_t headDim_;
    std::int64_t context_;
    FusedOptions options_;
    at::ScalarType sums_;
    std::optional<at::Generator> weightSource_;
    at::Tensor rotation_; // (context, headDim / 2, 2): cosine and sine
    std::shared_ptr<SideStream> side_;
    GradientObserver observer_;
    WeightUpdater updater_;
    QuantizedObserver quantizedObserver_;
    Parallelism* parallelism_;
    std::map<std::int64_t, std::vector<Tensor>>
        toQuantize_;                           ///< weights by block, quantised while they are gathered
    std::vector<Tensor> withGradient_;         ///< parameters whose gradients are not yet handed to the ranks
    bool keepsAttention_;                      ///< recomputed blocks keep the output of attention
    std::vector<Attended>* keeping_ = nullptr; ///< set while a part runs that backward will recompute
    std::deque<Attended> attended_;            ///< kept results of the part that is being recomputed
    bool isRecomputing_ = false;
    /// Keeps the output of swiGlu() until the next call in forward. If it were freed earlier, the allocator would
    /// split its memory for the smaller residual stream, which stays allocated, and each block would leave a fragment.
    at::Tensor gated_;
    // The factors of the product that crossEntropy() computes.
    Tensor headInput_;
    Tensor headWeight_;
    std::vector<Note> notes_;
    bool recording_ = true;
    bool quantizes_ = true;
};

} // namespace tilescope::engine
