#include "core/engine/attention/attention.h"
#include "core/engine/common/annotation.h"
#include "core/engine/common/set_up.h"

#include <limits>

namespace tilescope::engine {
namespace {

// softmax(q k^T) v with three ops: scores and weights, each N x N per head, are written to memory, and the
// weights are saved for backward.
class NaiveAttention final : public AttentionBackend {
public:
    NaiveAttention(const AttentionSpec& spec, const at::TensorOptions& inputs) : spec_(spec)
    {
        {
            const Making making(MemoryCategory::Inputs, kUnread);
            unread_ = at::zeros({1}, inputs);
        }
        if (!spec.causal)
            return;
        const Making making(MemoryCategory::Inputs, kMask);
        const std::int64_t offset = spec.keys - spec.queries;
        hidden_ = at::ones({spec.queries, spec.keys}, inputs.dtype(at::kBool)).triu_(offset + 1);
        if (offset < 0) {
            // The first queries see no key. Their scores stay finite, so that softmax returns no NaN, and
            // their output is set to zero.
            hidden_.narrow(0, 0, -offset).fill_(false);
            blank_ = at::zeros({spec.queries, 1}, inputs.dtype(at::kBool));
            blank_.narrow(0, 0, -offset).fill_(true);
        }
    }

    at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override
    {
        const at::Tensor weights = softmax(scores(q, k));
        const Annotation range(spec_.annotate, "output");
        const at::Tensor o = at::bmm(weights, v);
        return blank_.defined() ? blanked(o) : o;
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        visit(MemoryCategory::Inputs, kUnread, unread_);
        visit(MemoryCategory::Inputs, kMask, hidden_);
        visit(MemoryCategory::Inputs, "attention/blank_rows", blank_);
    }

private:
    static constexpr const char* kUnread = "attention/unread";
    static constexpr const char* kMask = "attention/mask";

    at::Tensor scores(const at::Tensor& q, const at::Tensor& k) const
    {
        const Annotation range(spec_.annotate, "scores");
        // The product is scaled in the same op: no separate N x N kernel, and no scaled copy of q saved for
        // backward. With beta = 0 the first operand is not read.
        const at::Tensor scores = spec_.scale == 1
                                      ? at::bmm(q, k.transpose(1, 2))
                                      : at::baddbmm(unread_, q, k.transpose(1, 2), 0, spec_.scale);
        if (hidden_.defined()) {
            // Masked weights are zero, so the backward of softmax returns zero gradients for their scores;
            // autograd does not need the mask. The backward of bmm does not use its result, so it may be
            // modified in place.
            const at::NoGradGuard unrecorded;
            scores.view({-1, spec_.queries, spec_.keys})
                .masked_fill_(hidden_, -std::numeric_limits<double>::infinity());
        }
        return scores;
    }

    at::Tensor softmax(const at::Tensor& scores) const
    {
        const Annotation range(spec_.annotate, "softmax");
        return at::softmax(scores, -1);
    }

    at::Tensor blanked(const at::Tensor& o) const
    {
        return o.view({-1, spec_.queries, spec_.headDim}).masked_fill(blank_, 0).view(o.sizes());
    }

    AttentionSpec spec_;
    at::Tensor unread_;
    at::Tensor hidden_; // (queries, keys): true: not visible; undefined if all are visible
    at::Tensor blank_;  // (queries, 1): true: the query sees no key; undefined if there is none
};

} // namespace

std::unique_ptr<AttentionBackend> makeNaiveAttention(const AttentionSpec& spec,
                                                     const at::TensorOptions& inputs)
{
    return std::make_unique<NaiveAttention>(spec, inputs);
}

} // namespace tilescope::engine
