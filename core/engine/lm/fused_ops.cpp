#include "core/engine/lm/fused_ops.h"

#include "core/engine/common/set_up.h"
#include "core/engine/lm/lm.h"
#include "core/model/block_name.h"
#include "core/model/fused_recomputation.h"
#include "core/model/fused_update.h"
#include "core/model/parallelism.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

namespace tilescope::engine {

namespace {

using Data = at::Tensor;
using Value = FusedOps::Tensor;

/// The names of the open FusedRanges of this thread.
std::vector<std::string>& openModules()
{
    static thread_local std::vector<std::string> modules;
    return modules;
}

template <class Signature> c10::TypedOperatorHandle<Signature> op(const char* name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using Triple = std::tuple<Data, Data, Data>;

std::optional<Data> given(const Data& data)
{
    return data.defined() ? std::optional(data) : std::nullopt;
}

Data crossEntropyInPlace(const Data& logits, const Data& targets, std::int64_t tokens)
{
    static const auto call = op<Data(const Data&, const Data&, double)>("tilescope::cross_entropy_");
    return call.call(logits, targets, 1 / static_cast<double>(tokens));
}

/// An fp32 weight as two 16-bit numbers. `weight` (bf16) is its upper half, rounded to nearest; the remainder
/// is the signed rest. Shifting the weight to the upper half and adding the remainder restores the fp32 bits.
struct SplitWeight {
    Data upper;
    Data remainder;
};

SplitWeight split(const Data& weight)
{
    constexpr std::int64_t kHalf = 0x8000;
    constexpr std::int64_t kLowBits = 0xffff;
    const Data bits = weight.view(at::kInt);
    return {at::bitwise_right_shift(bits + kHalf, 16).to(at::kShort).view(at::kBFloat16),
            at::bitwise_and(bits, kLowBits).to(at::kShort)};
}

Data rotationFactors(const ExperimentSpec& spec, at::TensorOptions options)
{
    const std::int64_t headDim = spec.dModel / spec.heads;
    const auto real = at::dtype(at::kDouble);
    const Data frequency =
        at::pow(spec.ropeTheta, at::arange(0, headDim, 2, real).div_(-static_cast<double>(headDim)));
    const Data angle = at::outer(at::arange(spec.context, real), frequency);
    return at::stack({at::cos(angle), at::sin(angle)}, -1).to(options);
}

} // namespace

FusedRange::FusedRange(std::string_view module, std::source_location where) : range_(module, where)
{
    openModules().emplace_back(module);
}

FusedRange::~FusedRange()
{
    openModules().pop_back();
}

FusedOps::NoteRanges::~NoteRanges()
{
    while (!open_.empty())
        open_.pop_back();
}

void FusedOps::NoteRanges::enter(const std::vector<std::string>& modules)
{
    const auto [differs, ignored] = std::mismatch(modules.begin(), modules.end(), now().begin(), now().end());
    const auto common = std::max(outer_, static_cast<std::size_t>(differs - modules.begin()));
    while (now().size() > common)
        open_.pop_back();
    for (std::size_t i = common; i < modules.size(); ++i)
        open_.push_back(std::make_unique<FusedRange>(modules[i]));
}

const std::vector<std::string>& FusedOps::NoteRanges::now()
{
    return openModules();
}

FusedOps::FusedOps(const ExperimentSpec& spec, const FusedOptions& options, Parallelism* parallelism)
    : FusedTape(spec.batch * spec.context, keepsAttention(spec),
                std::make_shared<SideStream>(options.device, SideStream::Priority::Urgent)),
      batch_(spec.batch), batches_(gridOf(spec).data), heads_(spec.heads), headDim_(spec.dModel / spec.heads),
      context_(spec.context), options_(options),
      sums_(options.elements == at::kDouble ? at::kDouble : at::kFloat),
      weightSource_(weightSource(options.device, spec.seed)), parallelism_(parallelism)
{
    requireRotatable(spec);
    const Making making(MemoryCategory::Inputs, "rotation");
    rotation_ = rotationFactors(spec, at::device(options.device).dtype(sums_));
}

// Draws the initial weights as EagerOps does: the same numbers in the same order.

Value FusedOps::embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width) const
{
    const Making making(MemoryCategory::Parameters, name);
    return valueOf(placed(
        name,
        at::empty({rows, width}, at::device(options_.device).dtype(sums_)).normal_(0, 1, weightSource_)));
}

Value FusedOps::normWeight(const std::string& name, std::int64_t width) const
{
    const Making making(MemoryCategory::Parameters, name);
    return valueOf(placed(name, at::ones({width}, at::device(options_.device).dtype(sums_))));
}

Value FusedOps::linearWeight(const std::string& name, const LinearMap& map)
{
    const Making making(MemoryCategory::Parameters, name);
    const Data exact =
        at::empty_strided({map.in, map.out}, {1, map.in}, at::device(options_.device).dtype(sums_))
            .normal_(0, deviationOf(map), weightSource_);
    const Value weight = valueOf(placed(name, exact, &map));
    if (options_.elements == at::kBFloat16 && !parallelism_) {
        const SplitWeight parts = split(exact.t());
        weight->data = parts.upper.t();
        if (options_.trains)
            weight->remainder = parts.remainder;
    }
    const bool isHead = map.module == std::string_view("lm_head");
    weight->isByChunks = options_.chunkRows > 0 && isHead;
    if (options_.quantizesProducts && !isHead && parallelism_)
        toQuantize_[blockNumber(name).value()].push_back(weight);
    else if (options_.quantizesProducts && !isHead)
        storeIn8Bits(weight);
    if (options_.splitsProducts && !options_.trains && !parallelism_)
        weight->parts = std::make_shared<WeightParts>(weight->data);
    return weight;
}

Data FusedOps::placed(const std::string& name, const Data& whole, const LinearMap* map) const
{
    return parallelism_ ? parallelism_->placed(name, whole.requires_grad_(true), map) : whole;
}

void FusedOps::handOver(const Tensor& parameter)
{
    parallelism_->gradientMade(parameter->data, taken(parameter));
}

void FusedOps::storeIn8Bits(const Tensor& weight) const
{
    weight->quantized = std::make_shared<QuantizedWeight>(weight->data);
}

Data FusedOps::embed(const Tensor& weight, const Tensor& tokens) const
{
    return at::embedding(weight->data, tokens->data);
}

Data FusedOps::embeddingGradient(const Tensor& weight, const Tensor& tokens, const Data& gradient) const
{
    static const auto call =
        op<Data(const Data&, const Data&, std::int64_t)>("tilescope::embedding_backward");
    return call.call(gradient, tokens->data, weight->data.size(0));
}

FusedNorm<Data> FusedOps::addRmsNorm(const Data& x, const Data& addend, const Tensor& weight) const
{
    static const auto call =
        op<Triple(const Data&, const std::optional<Data>&, const Data&, double, at::ScalarType)>(
            "tilescope::add_rms_norm");
    auto [y, sum, rows] = call.call(x, given(addend), weight->data, kNormEpsilon, options_.elements);
    return {std::move(y), addend.defined() ? std::move(sum) : Data(), std::move(rows)};
}

FusedNormGradients<Data> FusedOps::rmsNormBackward(const Data& gradY, const Data& x, const Tensor& weight,
                                                   const Data& rows, const Data& residual) const
{
    static const auto call =
        op<Triple(const Data&, const Data&, const Data&, const Data&, const std::optional<Data>&)>(
            "tilescope::rms_norm_backward");
    auto [input, rounded, parts] = call.call(gradY, x, weight->data, rows, given(residual));
    return {std::move(input), std::move(rounded), std::move(parts)};
}

Data FusedOps::gradientOfNorm(const Tensor& weight) const
{
    return at::empty_like(weight->data);
}

void FusedOps::sumParts(const Tensor& weight, const Data& parts) const
{
    static const auto call = op<void(const Data&, const Data&)>("tilescope::sum_parts_");
    call.call(weight->grad, parts);
}

Data FusedOps::weightProduct(const Data& x, const Tensor& weight, std::int64_t /*rows*/) const
{
    if (options_.splitsProducts)
        return weight->parts ? splitMm(x, weight->data, *weight->parts) : splitMm(x, weight->data);
    if (!weight->quantized || !quantizes_) {
        Data y = at::empty({x.size(0), weight->data.size(1)}, x.options());
        multiplyInto(y, ProductTarget::Set, x, weight->data, productChoice());
        return y;
    }
    const QuantizedRows rows = quantizedRows(x);
    Data y = fp8Product(rows, *weight->quantized);
    if (quantizedObserver_)
        quantizedObserver_({weight, true, x, rows, y});
    return y;
}

Data FusedOps::inputGradient(const Data& gradient, const Tensor& weight) const
{
    if (!weight->quantized || !quantizes_) {
        Data gradX = at::empty({gradient.size(0), weight->data.size(0)}, gradient.options());
        setInputGradient(gradX, gradient, weight);
        return gradX;
    }
    const QuantizedRows rows = quantizedRows(gradient);
    Data gradX = fp8InputGradient(rows, *weight->quantized);
    if (quantizedObserver_)
        quantizedObserver_({weight, false, gradient, rows, gradX});
    return gradX;
}

void FusedOps::setInputGradient(Data& target, const Data& gradient, const Tensor& weight) const
{
    if (weight->parts)
        splitInputGradientInto(target, gradient, weight->data, *weight->parts);
    else if (options_.splitsProducts)
        splitMmInto(target, ProductTarget::Set, gradient, weight->data.t());
    else
        multiplyInto(target, ProductTarget::Set, gradient, weight->data.t(), productChoice());
}

Data FusedOps::gradientLike(const Tensor& weight) const
{
    return at::empty_strided(weight->data.sizes(), weight->data.strides(),
                             weight->data.options().dtype(sums_));
}

bool FusedOps::updatesWithGradient(const Tensor& weight, const Data& /*x*/, const Data& /*gradient*/) const
{
    return updater_ && canUpdateWithGradient(weight->data.size(0), weight->data.size(1));
}

void FusedOps::updateWithGradient(const Tensor& weight, const Data& x, const Data& gradient) const
{
    updater_(weight, gradient, x);
}

// The product writes the type of sums directly, in the weight's layout, whose transpose is row-major.
void FusedOps::computeWeightGradient(const Tensor& weight, bool sets, const Data& x,
                                     const Data& gradient) const
{
    const ProductTarget how = sets ? ProductTarget::Set : ProductTarget::Add;
    Data target = weight->grad.t();
    if (options_.splitsProducts)
        splitMmInto(target, how, gradient.t(), x);
    else
        multiplyInto(target, how, gradient.t(), x, productChoice());
}

ProductChoice FusedOps::productChoice() const
{
    return options_.deterministic ? ProductChoice::LibTorch : ProductChoice::Fastest;
}

TensorTriple<Data> FusedOps::heads(const Data& packed) const
{
    const Data byHead = packed.view({batch_, context_, 3, heads_, headDim_}).permute({2, 0, 3, 1, 4});
    return {byHead.select(0, 0), byHead.select(0, 1), byHead.select(0, 2)};
}

void FusedOps::rotate(const Data& packed, bool inverse) const
{
    static const auto call =
        op<void(const Data&, const Data&, std::int64_t, bool)>("tilescope::rotate_heads_");
    call.call(packed, rotation_, 2 * heads_, inverse);
}

FusedAttention<Data> FusedOps::attentionForward(const TensorTriple<Data>& qkv, bool keeps) const
{
    static const auto call = op<Triple(const Data&, const Data&, const Data&, bool, std::optional<double>,
                                       c10::string_view, bool)>("tilescope::attention_forward");
    auto [o, logSumExp, exact] =
        call.call(qkv[0], qkv[1], qkv[2], true, std::nullopt, options_.tf32 ? "tf32" : "ieee", keeps);
    // (batch, context, heads, head dim) in memory, like q.
    return {o.transpose(1, 2).reshape({batch_ * context_, heads_ * headDim_}),
            exact.dim() > 1 ? exact : logSumExp};
}

Data FusedOps::gradientOfHeads(const Data& packed) const
{
    return at::empty_like(packed);
}

void FusedOps::attentionBackward(const Tensor& packed, const Data& gradO, const Data& o,
                                 const Data& statistics) const
{
    static const auto call =
        op<void(const Data&, const Data&, const Data&, const Data&, const Data&, const Data&, bool, double,
                c10::string_view, bool, const std::optional<Data>&, const Data&, const Data&, const Data&)>(
            "tilescope::attention_backward_out");
    const auto byHead = [this](const Data& data) {
        return data.view({batch_, context_, heads_, headDim_}).transpose(1, 2);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(headDim_));
    const TensorTriple<Data> qkv = heads(packed->data);
    const TensorTriple<Data> gradients = heads(packed->grad);
    call.call(byHead(gradO), qkv[0], qkv[1], qkv[2], byHead(o), statistics, true, scale,
              options_.tf32 ? "tf32" : "ieee", options_.deterministic, std::nullopt, gradients[0],
              gradients[1], gradients[2]);
}

Data FusedOps::swiGluForward(const Data& gateUp) const
{
    static const auto call = op<Data(const Data&)>("tilescope::swiglu");
    return call.call(gateUp);
}

void FusedOps::swiGluBackward(const Data& gradient, const Data& gateUp) const
{
    static const auto call = op<void(const Data&, const Data&)>("tilescope::swiglu_backward_");
    call.call(gradient, gateUp);
}

Data FusedOps::crossEntropy(const Tensor& logits, const Data& targets)
{
    if (headInput_)
        return crossEntropyByChunks(targets);
    const Data losses = crossEntropyInPlace(logits->data, targets, batches_ * targets.size(0));
    logits->grad = std::exchange(logits->data, {});
    return losses.mean();
}

Data FusedOps::crossEntropyByChunks(const Data& targets)
{
    const FusedRange range("lm_head");
    const Value x = std::exchange(headInput_, {});
    const Value weight = std::exchange(headWeight_, {});
    const std::int64_t tokens = targets.size(0);
    x->grad = at::empty_like(x->data);
    weight->grad = gradientLike(weight);
    std::vector<Data> losses;
    for (std::int64_t begin = 0; begin < tokens; begin += options_.chunkRows) {
        const std::int64_t count = std::min(options_.chunkRows, tokens - begin);
        const Data part = x->data.narrow(0, begin, count);
        const Data logits = weightProduct(part, weight, count);
        losses.push_back(crossEntropyInPlace(logits, targets.narrow(0, begin, count), batches_ * tokens));
        Data gradPart = x->grad.narrow(0, begin, count);
        setInputGradient(gradPart, logits, weight);
        computeWeightGradient(weight, begin == 0, part, logits);
    }
    x->data.reset();
    note("tilescope::cross_entropy_", {}, [this, weight] { tellGradient(weight); });
    return at::cat(losses).mean();
}

void FusedOps::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, "rotation", rotation_);
}

void FusedOps::visitSaved(
    const std::function<void(const std::string& path, const char* op, const Data&)>& visit) const
{
    for (const Note& note : notes_) {
        std::string path;
        for (const std::string& module : note.modules)
            path += "/" + module;
        for (const Value& value : note.saved)
            if (value->data.defined())
                visit(path, note.op, value->data);
    }
}

} // namespace tilescope::engine
