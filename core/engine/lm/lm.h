#pragma once

#include "core/engine/attention/attention.h"
#include "core/engine/lm/lm_functions.h"
#include "core/engine/lm/recomputation.h"

#include <string>
#include <vector>

namespace tilescope::engine {

/// The numbers that make a model.
struct LmShape {
    std::int64_t dModel = 768;
    std::int64_t dFf = 3072;
    std::int64_t layers = 12;
    std::int64_t heads = 12;
    std::int64_t vocab = 10'000;
    std::int64_t batch = 4;
    std::int64_t context = 128;
    double ropeTheta = 10'000;
};

/// A pre-norm decoder: RMSNorm, rotary positions, causal multi-head attention, SwiGLU, no biases, untied
/// embedding and head. Session thread.
///
/// The projections of q, k and v are one matrix side by side, and so are those of gate and up: the same
/// numbers and the same maths as separate ones, in fewer and larger products. Activations are kept as
/// (batch·context, width).
class LanguageModel {
public:
    /// \param options  dtype and device of the parameters
    /// \throws Unsupported, Error
    LanguageModel(const LmShape& shape, at::TensorOptions options, Backend backend,
                  const AttentionProblem& problem, Checkpointing checkpointing = {});
    ~LanguageModel();
    LanguageModel(const LanguageModel&) = delete;
    LanguageModel& operator=(const LanguageModel&) = delete;

    /// Logits (batch·context, vocab) of tokens (batch·context) int64.
    at::Tensor forward(const at::Tensor& tokens) const;

    const std::vector<at::Tensor>& parameters() const { return parameters_; }
    /// Theirs, by the module: layers.3/ffn/down.
    const std::vector<std::string>& parameterNames() const { return parameterNames_; }
    /// Tells parameters, their gradients and the tables that it keeps.
    void visitHeld(const HoldVisitor& visit) const;
    std::int64_t parameterCount() const;

private:
    // Weights of a linear map are (in, out), stored transposed: the product needs no transposed view, and the
    // memory is that of torch.nn.Linear.
    struct Layer {
        std::string name; // layers.3
        at::Tensor attentionNorm;
        at::Tensor qkv;
        at::Tensor projection;
        at::Tensor ffnNorm;
        at::Tensor gateUp;
        at::Tensor down;
    };

    class Blocks;
    class CoreAttention;

    void checkpoint(Checkpointing checkpointing);
    at::Tensor block(const Layer& layer, const at::Tensor& x) const;
    at::Tensor attend(const Layer& layer, const at::Tensor& normed, const at::Tensor& x) const;
    at::Tensor feedForward(const Layer& layer, const at::Tensor& normed, const at::Tensor& x) const;
    at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
    at::Tensor addProduct(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight) const;
    at::Tensor weight(std::string name, std::int64_t in, std::int64_t out, double deviation);
    at::Tensor normWeight(std::string name);

    LmShape shape_;
    at::TensorOptions options_;
    std::unique_ptr<AttentionBackend> attention_;
    bool groupsHeads_;
    Rotation rotation_;
    at::Tensor embedding_;
    std::vector<Layer> layers_;
    at::Tensor norm_;
    at::Tensor head_;
    std::vector<at::Tensor> parameters_;
    std::vector<std::string> parameterNames_;
    // What backward computes again, if anything: runs of blocks, or attention between q, k, v and o.
    std::vector<std::unique_ptr<RecomputedPart>> recomputedBlocks_;
    std::unique_ptr<RecomputedPart> recomputedAttention_;
};

/// The attention of a model of that shape; the scale of the scores is folded into the rotation of q.
AttentionProblem attentionOf(const LmShape& shape);

} // namespace tilescope::engine
