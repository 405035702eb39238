#include "core/engine/lm/generation_ops.h"

#include "core/engine/common/autocast.h"
#include "core/engine/common/set_up.h"
#include "core/engine/lm/lm.h"
#include "core/engine/lm/lm_functions.h"
#include "core/model/attention_backend.h"
#include "core/model/generation.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cmath>
#include <utility>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr double kLargestE4m3 = 448;

/// (positions, d/2) complex numbers of absolute value `scale`: see Rotation.
Tensor makeTurns(std::int64_t positions, std::int64_t headDim, double theta, double scale,
                 at::ScalarType dtype, at::Device device)
{
    const auto real = at::dtype(at::kDouble);
    const Tensor frequency =
        at::pow(theta, at::arange(0, headDim, 2, real).div_(-static_cast<double>(headDim)));
    const Tensor angle = at::outer(at::arange(positions, real), frequency);
    return at::complex(at::cos(angle), at::sin(angle))
        .mul_(scale)
        .to(at::device(device).dtype(c10::toComplexType(dtype)));
}

/// The problem of the prompt, or of one new token, for which `keys` is the most that it reads.
/// \param scale  of the scores
AttentionSpec attentionOfPass(const ExperimentSpec& spec, double scale, bool isPrefill)
{
    AttentionSpec attention = attentionOf(spec);
    attention.scale = scale;
    if (!isPrefill) {
        attention.queries = 1;
        attention.keys = cachedTokens(spec);
        attention.causal = false; // one query sees every key
    }
    return attention;
}

double scaleOfScores(const ExperimentSpec& spec)
{
    return 1 / std::sqrt(static_cast<double>(spec.dModel / spec.heads));
}

} // namespace

GenerationOps::GenerationOps(const ExperimentSpec& spec, at::TensorOptions options, Rotating rotating)
    : batch_(spec.batch), heads_(spec.heads), kvHeads_(spec.kvHeads), headDim_(spec.dModel / spec.heads),
      options_(options), rounding_(inputDtype(spec.precision)),
      weightsAreFp8_(spec.weights == WeightFormat::Fp8), groupsHeads_(traitsOf(spec.backend).groupsHeads),
      weightSource_(weightSource(options.device(), spec.seed))
{
    requireRotatable(spec);
    const bool isWide = c10::typeMetaToScalarType(options.dtype()) == at::kDouble;
    const bool isInPlace = rotating == Rotating::InPlace;
    const auto turns = [&](const char* name, double scale) {
        const Making making(MemoryCategory::Inputs, name);
        return makeTurns(cachedTokens(spec), headDim_, spec.ropeTheta, scale,
                         isWide ? at::kDouble : at::kFloat, options.device());
    };
    if (isInPlace)
        turns_[0] = at::view_as_real(turns("rotation of q", 1));
    else
        turns_ = {turns("rotation of q", scaleOfScores(spec)), turns("rotation of k", 1)};
    scale_ = isInPlace ? scaleOfScores(spec) : 1;
    storesInPlace_ = isInPlace && options.device().is_cuda() && !isWide && headDim_ % 8 == 0;
    readsPages_ = storesInPlace_ && spec.precision == Precision::Bf16;
    prefill_ = makeAttention(spec.backend, attentionOfPass(spec, scale_, true), options);
    decode_ = makeAttention(spec.backend, attentionOfPass(spec, scale_, false), options);
    cache_ = makeKvCache(spec, options);
}

// All dtypes have the weights of fp32, rounded.
Tensor GenerationOps::drawn(const Tensor& wide)
{
    weightElements_ += wide.numel();
    return wide.to(rounding_).to(options_.dtype());
}

Tensor GenerationOps::embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width)
{
    const Making making(MemoryCategory::Parameters, name);
    return drawn(at::empty({rows, width}, options_.dtype(at::kFloat)).normal_(0, 1, weightSource_));
}

Tensor GenerationOps::normWeight(const std::string& name, std::int64_t width)
{
    const Making making(MemoryCategory::Parameters, name);
    return drawn(at::ones({width}, options_.dtype(at::kFloat)));
}

// (in, out), stored transposed: see EagerOps::linearWeight().
Tensor GenerationOps::linearWeight(const std::string& name, const LinearMap& map)
{
    const Making making(MemoryCategory::Parameters, name);
    const Tensor wide = at::empty_strided({map.in, map.out}, {1, map.in}, options_.dtype(at::kFloat))
                            .normal_(0, deviationOf(map), weightSource_);
    if (!weightsAreFp8_)
        return drawn(wide);
    weightElements_ += wide.numel();
    // The largest weight of an output becomes the largest number of E4M3.
    const Tensor scales = at::amax(wide.abs(), {0}).clamp_min_(1e-12).div_(kLargestE4m3);
    const Tensor rounded = wide.div(scales).to(at::kFloat8_e4m3fn);
    if (c10::typeMetaToScalarType(options_.dtype()) == at::kDouble)
        return rounded.to(at::kDouble).mul_(scales);
    scales_.emplace(rounded.const_data_ptr(), scales);
    return rounded;
}

const Tensor* GenerationOps::scalesOf(const Tensor& weight) const
{
    const auto found = scales_.find(weight.const_data_ptr());
    return found == scales_.end() ? nullptr : &found->second;
}

Tensor GenerationOps::rmsNorm(const Tensor& x, const Tensor& weight) const
{
    return std::get<0>(at::_fused_rms_norm(x, weight.sizes(), weight, kNormEpsilon));
}

// The values of E4M3 are numbers of bf16, so converting them is exact; the scale follows the product.
Tensor GenerationOps::mm(const Tensor& x, const Tensor& weight) const
{
    const Range range("products");
    if (const Tensor* scales = scalesOf(weight))
        return at::mm(x, weight.to(x.scalar_type())).mul_(*scales);
    return at::mm(x, weight);
}

Tensor GenerationOps::rowsProduct(const Tensor& x, const Tensor& weight) const
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::rows_product", "")
                                 .typed<Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&)>();
    const Tensor byOutput = weight.t();
    if (!byOutput.is_contiguous())
        return mm(x, weight);
    const Range range("products");
    const Tensor* scales = scalesOf(weight);
    return call.call(x.contiguous(), byOutput, scales ? std::optional(*scales) : std::nullopt);
}

Tensor GenerationOps::addmm(const Tensor& x, const Tensor& a, const Tensor& b) const
{
    if (scalesOf(b) != nullptr)
        return mm(a, b).add_(x);
    const Range range("products");
    return at::addmm(x, a, b);
}

// heads: (batch, heads, n, d), a view.
Tensor GenerationOps::rotated(const Tensor& heads, const Tensor& turns) const
{
    const at::ScalarType real = c10::toRealValueType(turns.scalar_type());
    const std::int64_t count = heads.size(1);
    Tensor out = at::empty({batch_, count, tokens_, headDim_}, heads.options().dtype(real));
    Tensor turned = at::view_as_complex(out.view({batch_, count, tokens_, headDim_ / 2, 2}));
    at::mul_out(turned, at::view_as_complex(heads.to(real).unflatten(-1, {headDim_ / 2, 2})),
                turns.narrow(0, first_, tokens_));
    return out.to(heads.scalar_type());
}

TensorTriple<Tensor> GenerationOps::splitHeads(const Tensor& qkv) const
{
    const Tensor byHead = qkv.view({batch_, tokens_, heads_ + 2 * kvHeads_, headDim_}).transpose(1, 2);
    return {rotated(byHead.narrow(1, 0, heads_), turns_[0]),
            rotated(byHead.narrow(1, heads_, kvHeads_), turns_[1]),
            byHead.narrow(1, heads_ + kvHeads_, kvHeads_).contiguous()};
}

TensorTriple<Tensor> GenerationOps::headsRotatedInPlace(const Tensor& qkv) const
{
    if (storesWhileRotating()) {
        static const auto store = c10::Dispatcher::singleton()
                                      .findSchemaOrThrow("tilescope::store_heads_", "")
                                      .typed<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                  const std::optional<Tensor>&)>();
        const auto [keys, values, rows] = cache_->place(layer_, first_);
        store.call(qkv, turns_[0].select(0, first_), keys, values, rows);
    } else {
        static const auto rotate = c10::Dispatcher::singleton()
                                       .findSchemaOrThrow("tilescope::rotate_heads_", "")
                                       .typed<void(const Tensor&, const Tensor&, std::int64_t, bool)>();
        rotate.call(qkv, turns_[0].narrow(0, first_, tokens_), heads_ + kvHeads_, false);
    }
    const Tensor byHead = qkv.view({batch_, tokens_, heads_ + 2 * kvHeads_, headDim_}).transpose(1, 2);
    return {byHead.narrow(1, 0, heads_), byHead.narrow(1, heads_, kvHeads_),
            byHead.narrow(1, heads_ + kvHeads_, kvHeads_)};
}

Tensor GenerationOps::grouped(const Tensor& heads) const
{
    return groupsHeads_ ? heads.reshape({batch_ * kvHeads_, -1, headDim_}) : heads;
}

Tensor GenerationOps::attention(const TensorTriple<Tensor>& qkv)
{
    const Range range("attention");
    const auto& [q, k, v] = qkv;
    if (!storesWhileRotating())
        cache_->write(layer_, first_, k, v);
    if (first_ == 0)
        return prefill_->apply(grouped(q), grouped(k), grouped(v));
    if (readsPages_)
        if (const auto pages = cache_->pages(layer_))
            return attentionByPages(q, *pages);
    const auto [keys, values] = cache_->read(layer_, first_ + tokens_);
    return decode_->apply(grouped(q), grouped(keys), grouped(values));
}

Tensor GenerationOps::attentionByPages(const Tensor& q, const KvCache::Pages& pages) const
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::attention_paged", "")
                                 .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                               std::int64_t, std::optional<double>)>();
    return call.call(q, pages.keys, pages.values, pages.table, first_ + tokens_, scale_);
}

Tensor GenerationOps::mergeHeads(const Tensor& o) const
{
    return engine::mergeHeads(groupsHeads_ ? o.view({batch_, heads_, tokens_, headDim_}) : o, batch_, heads_);
}

Tensor GenerationOps::swiGlu(const Tensor& gateUp) const
{
    return engine::swiGlu(gateUp);
}

Tensor GenerationOps::rowsOfHead(const Tensor& x) const
{
    if (tokens_ == 1 || keepsAllRows_)
        return x;
    return x.view({batch_, tokens_, -1}).select(1, tokens_ - 1).contiguous();
}

void GenerationOps::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, "rotation of q", turns_[0]);
    visit(MemoryCategory::Inputs, "rotation of k", turns_[1]);
    for (const auto& [values, scales] : scales_)
        visit(MemoryCategory::Parameters, "scales", scales);
    cache_->visitHeld(visit);
    prefill_->visitHeld(visit);
    decode_->visitHeld(visit);
}

} // namespace tilescope::engine
