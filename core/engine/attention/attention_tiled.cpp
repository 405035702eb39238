#include "core/engine/attention/attention.h"
#include "core/engine/common/annotation.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

namespace tilescope::engine {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// FlashAttention-2 (Dao, 2023) written with LibTorch ops: scores exist one tile at a time, softmax is
// corrected as new key tiles arrive, and backward recomputes the tiles from q, k, v, o and the log-sum-exp of
// each row.
//
// Query tiles are independent, so a GPU kernel gives each to a thread block. Here one op processes as many of
// them as fit into the score budget (a wave), which limits both memory and the number of ops.
class TiledPlan {
public:
    TiledPlan(const AttentionSpec& spec, const at::TensorOptions& inputs);

    Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, Tensor& logSumExp) const;
    variable_list backward(const Tensor& gradO, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& o, const Tensor& logSumExp) const;

private:
    struct Span {
        std::int64_t begin, end;
        std::int64_t size() const { return end - begin; }
        Tensor of(const Tensor& t) const { return t.narrow(1, begin, end - begin); }
    };

    Span keyTile(std::int64_t begin) const { return {begin, std::min(begin + spec_.tileK, spec_.keys)}; }
    Span wave(std::int64_t begin) const { return {begin, std::min(begin + waveRows_, spec_.queries)}; }
    std::int64_t firstRowThatSees(std::int64_t key, std::int64_t lowest) const;

    Tensor byHead(const Tensor& t, std::int64_t length) const;
    Tensor tileForQueries(const Tensor& kOrV, Span keys) const;
    Tensor sumGroups(const Tensor& gradTile) const;
    Tensor product(const Tensor& a, const Tensor& b) const;
    void accumulate(Tensor sum, const Tensor& a, const Tensor& b) const;
    Tensor scores(const Tensor& qRows, const Tensor& kTile, Span rows, Span keys) const;

    AttentionSpec spec_;
    at::TensorOptions inputs_;    // device and dtype of q, k and v
    at::ScalarType wide_;         // type of the sums
    std::int64_t offset_ = 0;     // query i sees key j if j <= i + offset_
    std::int64_t firstRow_ = 0;   // the first query that sees a key
    std::int64_t waveRows_ = 0;   // query rows per op
    std::int64_t queryBatch_ = 0; // batch · heads
};

TiledPlan::TiledPlan(const AttentionSpec& spec, const at::TensorOptions& inputs)
    : spec_(spec), inputs_(inputs)
{
    wide_ = inputs.dtype() == at::kDouble ? at::kDouble : at::kFloat;
    offset_ = spec.keys - spec.queries;
    firstRow_ = spec.causal ? std::max<std::int64_t>(0, -offset_) : 0;
    queryBatch_ = spec.batch * spec.heads;
    // Score block of one wave: large enough to fill a GPU, small enough for a CPU's cache.
    const std::int64_t budget = inputs.device().is_cuda() ? (64LL << 20) : (2LL << 20);
    const std::int64_t rowBytes = queryBatch_ * spec.tileK * static_cast<std::int64_t>(sizeof(float));
    waveRows_ = std::max<std::int64_t>(1, budget / (rowBytes * spec.tileQ)) * spec.tileQ;
}

// Start of the first query tile, at or after `lowest`, with a row that sees `key`.
std::int64_t TiledPlan::firstRowThatSees(std::int64_t key, std::int64_t lowest) const
{
    if (!spec_.causal)
        return lowest;
    const std::int64_t row = std::max(key - offset_, firstRow_);
    return std::max(lowest, firstRow_ + (row - firstRow_) / spec_.tileQ * spec_.tileQ);
}

Tensor TiledPlan::byHead(const Tensor& t, std::int64_t length) const
{
    return t.reshape({-1, length, spec_.headDim});
}

// A tile of k or v with one copy for each query head that shares it.
Tensor TiledPlan::tileForQueries(const Tensor& kOrV, Span keys) const
{
    const Tensor tile = keys.of(kOrV);
    const std::int64_t groups = spec_.heads / spec_.kvHeads;
    if (groups == 1)
        return tile;
    return tile.unsqueeze(1)
        .expand({tile.size(0), groups, keys.size(), spec_.headDim})
        .reshape({queryBatch_, keys.size(), spec_.headDim});
}

Tensor TiledPlan::sumGroups(const Tensor& gradTile) const
{
    const std::int64_t groups = spec_.heads / spec_.kvHeads;
    if (groups == 1)
        return gradTile;
    return gradTile.view({-1, groups, gradTile.size(1), gradTile.size(2)}).sum(1);
}

// a b in the wide type, whatever the type of the factors.
Tensor TiledPlan::product(const Tensor& a, const Tensor& b) const
{
    if (inputs_.dtype() == wide_)
        return at::bmm(a, b);
    if (inputs_.device().is_cuda())
        return at::bmm(a.to(inputs_.dtype()), b, wide_);
    return at::bmm(a.to(wide_), b.to(wide_));
}

void TiledPlan::accumulate(Tensor sum, const Tensor& a, const Tensor& b) const
{
    if (inputs_.dtype() == wide_)
        sum.baddbmm_(a, b);
    else
        sum.add_(product(a.to(inputs_.dtype()), b));
}

Tensor TiledPlan::scores(const Tensor& qRows, const Tensor& kTile, Span rows, Span keys) const
{
    Tensor scores = product(qRows, kTile.transpose(1, 2)).mul_(spec_.scale);
    const std::int64_t crossed = std::min(rows.end, keys.end - 1 - offset_) - rows.begin;
    if (spec_.causal && crossed > 0) {
        // Only rows that the diagonal crosses need a mask; those below see the whole tile.
        const Tensor hidden = at::ones({crossed, keys.size()}, scores.options().dtype(at::kBool))
                                  .triu_(rows.begin + offset_ - keys.begin + 1);
        scores.narrow(1, 0, crossed).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
    }
    return scores;
}

Tensor TiledPlan::forward(const Tensor& q4, const Tensor& k4, const Tensor& v4, Tensor& logSumExp) const
{
    const Tensor q = byHead(q4, spec_.queries);
    const Tensor k = byHead(k4, spec_.keys);
    const Tensor v = byHead(v4, spec_.keys);
    const auto wide = q.options().dtype(wide_);
    const std::int64_t rows = spec_.queries;
    Tensor o = at::zeros({queryBatch_, rows, spec_.headDim}, wide);
    Tensor sums = at::zeros({queryBatch_, rows, 1}, wide);
    Tensor maxima = at::full({queryBatch_, rows, 1}, -std::numeric_limits<double>::infinity(), wide);

    for (std::int64_t begin = firstRow_; begin < rows; begin += waveRows_) {
        const Span all = wave(begin);
        const std::int64_t keysSeen = spec_.causal ? std::min(spec_.keys, all.end + offset_) : spec_.keys;
        for (std::int64_t key = 0; key < keysSeen; key += spec_.tileK) {
            const Span keys = keyTile(key);
            const Span part{firstRowThatSees(key, begin), all.end};
            Tensor p = scores(part.of(q), tileForQueries(k, keys), part, keys);
            // The first tile contains key 0, which every row here sees, so maxima are finite from then on.
            Tensor max = part.of(maxima);
            const Tensor newMax = at::maximum(max, p.amax(-1, true));
            const Tensor correction = at::sub(max, newMax).exp_();
            p.sub_(newMax).exp_();
            part.of(sums).mul_(correction).add_(p.sum(-1, true));
            Tensor oRows = part.of(o).mul_(correction);
            accumulate(oRows, p, tileForQueries(v, keys));
            max.copy_(newMax);
        }
        all.of(o).div_(all.of(sums));
    }
    logSumExp = sums.log_().add_(maxima);
    return o.to(inputs_.dtype()).view(q4.sizes());
}

variable_list TiledPlan::backward(const Tensor& gradO4, const Tensor& q4, const Tensor& k4, const Tensor& v4,
                                  const Tensor& o4, const Tensor& logSumExp) const
{
    const Tensor q = byHead(q4, spec_.queries);
    const Tensor k = byHead(k4, spec_.keys);
    const Tensor v = byHead(v4, spec_.keys);
    const Tensor gradO = byHead(gradO4, spec_.queries);
    const auto wide = q.options().dtype(wide_);
    // delta_i = sum_j P_ij dP_ij = o_i · do_i, which needs no tile.
    const Tensor delta = at::mul(gradO, byHead(o4, spec_.queries)).sum(-1, true, wide_);
    Tensor gradQ = at::zeros(q.sizes(), wide);
    Tensor gradK = at::zeros(k.sizes(), wide);
    Tensor gradV = at::zeros(v.sizes(), wide);

    for (std::int64_t key = 0; key < spec_.keys; key += spec_.tileK) {
        const Span keys = keyTile(key);
        const Tensor kTile = tileForQueries(k, keys);
        const Tensor vTile = tileForQueries(v, keys).transpose(1, 2);
        Tensor gradKTile = at::zeros({queryBatch_, keys.size(), spec_.headDim}, wide);
        Tensor gradVTile = at::zeros_like(gradKTile);
        for (std::int64_t begin = firstRowThatSees(key, firstRow_); begin < spec_.queries;
             begin += waveRows_) {
            const Span rows = wave(begin);
            const Tensor qRows = rows.of(q);
            const Tensor gradRows = rows.of(gradO);
            Tensor p = scores(qRows, kTile, rows, keys).sub_(rows.of(logSumExp)).exp_();
            accumulate(gradVTile, p.transpose(1, 2), gradRows);
            const Tensor gradS = product(gradRows, vTile).sub_(rows.of(delta)).mul_(p).mul_(spec_.scale);
            accumulate(rows.of(gradQ), gradS, kTile);
            accumulate(gradKTile, gradS.transpose(1, 2), qRows);
        }
        keys.of(gradK).copy_(sumGroups(gradKTile));
        keys.of(gradV).copy_(sumGroups(gradVTile));
    }
    return {gradQ.to(inputs_.dtype()).view(q4.sizes()), gradK.to(inputs_.dtype()).view(k4.sizes()),
            gradV.to(inputs_.dtype()).view(v4.sizes())};
}

// Disables autocast: it was applied when q, k and v were computed, and the tiles choose their own types.
struct PlainOps {
    at::AutoDispatchBelowADInplaceOrView belowAutograd;
    c10::impl::ExcludeDispatchKeyGuard noAutocast{c10::autocast_dispatch_keyset};
};

struct TiledFunction : torch::autograd::Function<TiledFunction> {
    static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                          const TiledPlan* plan)
    {
        Tensor logSumExp;
        Tensor o;
        {
            const PlainOps plain;
            o = plan->forward(q, k, v, logSumExp);
        }
        context->save_for_backward({q, k, v, o, logSumExp});
        // The plan belongs to the backend, which outlives every graph made with it.
        context->saved_data["plan"] = reinterpret_cast<std::int64_t>(plan);
        return o;
    }

    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const auto saved = context->get_saved_variables();
        const auto* plan = reinterpret_cast<const TiledPlan*>(context->saved_data["plan"].toInt());
        const PlainOps plain;
        variable_list result = plan->backward(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4]);
        result.emplace_back(); // the plan has no gradient
        return result;
    }
};

class TiledAttention final : public AttentionBackend {
public:
    TiledAttention(const AttentionSpec& spec, const at::TensorOptions& inputs) : plan_(spec, inputs) {}

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override
    {
        const NamedOp op("tilescope::flash_torch");
        if (at::GradMode::is_enabled())
            return TiledFunction::apply(q, k, v, &plan_);
        const PlainOps plain;
        Tensor logSumExp;
        return plan_.forward(q, k, v, logSumExp);
    }

private:
    TiledPlan plan_;
};

} // namespace

std::unique_ptr<AttentionBackend> makeTiledAttention(const AttentionSpec& spec,
                                                     const at::TensorOptions& inputs)
{
    return std::make_unique<TiledAttention>(spec, inputs);
}

} // namespace tilescope::engine
