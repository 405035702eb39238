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

Triple addRmsNorm(const Data& x, const std::optional<Data>& addend, const Data& weight,
                  at::ScalarType elements)
{
    static const auto call =
        op<Triple(const Data&, const std::optional<Data>&, const Data&, double, at::ScalarType)>(
            "tilescope::add_rms_norm");
    return call.call(x, addend, weight, kNormEpsilon, elements);
}

Triple rmsNormBackward(const Data& gradY, const Data& x, const Data& weight, const Data& reciprocal,
                       const std::optional<Data>& gradResidual)
{
    static const auto call =
        op<Triple(const Data&, const Data&, const Data&, const Data&, const std::optional<Data>&)>(
            "tilescope::rms_norm_backward");
    return call.call(gradY, x, weight, reciprocal, gradResidual);
}

void sumParts(const Data& sum, const Data& parts)
{
    static const auto call = op<void(const Data&, const Data&)>("tilescope::sum_parts_");
    call.call(sum, parts);
}

void rotateHeads(const Data& x, const Data& rotation, std::int64_t heads, bool inverse)
{
    static const auto call =
        op<void(const Data&, const Data&, std::int64_t, bool)>("tilescope::rotate_heads_");
    call.call(x, rotation, heads, inverse);
}

Data swiGluForward(const Data& x)
{
    static const auto call = op<Data(const Data&)>("tilescope::swiglu");
    return call.call(x);
}

void swiGluBackward(const Data& gradY, const Data& x)
{
    static const auto call = op<void(const Data&, const Data&)>("tilescope::swiglu_backward_");
    call.call(gradY, x);
}

Data embeddingBackward(const Data& gradient, const Data& tokens, std::int64_t vocabulary)
{
    static const auto call =
        op<Data(const Data&, const Data&, std::int64_t)>("tilescope::embedding_backward");
    return call.call(gradient, tokens, vocabulary);
}

Data crossEntropyInPlace(const Data& logits, const Data& targets, std::int64_t tokens)
{
    static const auto call = op<Data(const Data&, const Data&, double)>("tilescope::cross_entropy_");
    return call.call(logits, targets, 1 / static_cast<double>(tokens));
}

Triple attentionForward(const TensorTriple<Data>& qkv, std::string_view fp32, bool keeps)
{
    static const auto call = op<Triple(const Data&, const Data&, const Data&, bool, std::optional<double>,
                                       c10::string_view, bool)>("tilescope::attention_forward");
    return call.call(qkv[0], qkv[1], qkv[2], true, std::nullopt, fp32, keeps);
}

struct AttentionGradient {
    const Data& gradO;
    const TensorTriple<Data>& qkv;
    const Data& o;
    const Data& statistics;
};

void attentionBackward(const AttentionGradient& given, std::string_view fp32, bool deterministic,
                       const TensorTriple<Data>& gradients)
{
    static const auto call =
        op<void(const Data&, const Data&, const Data&, const Data&, const Data&, const Data&, bool, double,
                c10::string_view, bool, const std::optional<Data>&, const Data&, const Data&, const Data&)>(
            "tilescope::attention_backward_out");
    const double scale = 1 / std::sqrt(static_cast<double>(given.o.size(-1)));
    call.call(given.gradO, given.qkv[0], given.qkv[1], given.qkv[2], given.o, given.statistics, true, scale,
              fp32, deterministic, std::nullopt, gradients[0], gradients[1], gradients[2]);
}

Value valueOf(Data data)
{
    return std::make_shared<FusedValue>(FusedValue{.data = std::move(data), .grad = {}});
}

/// Makes q, k or v a view of the packed projection.
Value partOf(const Value& packed, const Data& view)
{
    Value part = valueOf(view);
    part->packed = packed;
    return part;
}

/// Moves the gradient out of a value that needs it no more.
Data taken(const Value& value)
{
    return std::exchange(value->grad, {});
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

Data makeRotation(const ExperimentSpec& spec, at::TensorOptions options)
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

FusedOps::FusedOps(const ExperimentSpec& spec, const FusedOptions& options, Parallelism* parallelism)
    : batch_(spec.batch), batches_(gridOf(spec).data), heads_(spec.heads), headDim_(spec.dModel / spec.heads),
      context_(spec.context), options_(options),
      sums_(options.elements == at::kDouble ? at::kDouble : at::kFloat),
      weightSource_(weightSource(options.device, spec.seed)),
      side_(std::make_shared<SideStream>(options.device, SideStream::Priority::Urgent)),
      parallelism_(parallelism), keepsAttention_(keepsAttention(spec))
{
    requireRotatable(spec);
    const Making making(MemoryCategory::Inputs, "rotation");
    rotation_ = makeRotation(spec, at::device(options.device).dtype(sums_));
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
        weight->quantized = std::make_shared<QuantizedWeight>(weight->data);
    if (options_.splitsProducts && !options_.trains && !parallelism_)
        weight->parts = std::make_shared<WeightParts>(weight->data);
    return weight;
}

Data FusedOps::placed(const std::string& name, const Data& whole, const LinearMap* map) const
{
    return parallelism_ ? parallelism_->placed(name, whole.requires_grad_(true), map) : whole;
}

// Notes that the ranks get the block's gradients. In backward this note of the block runs last.
Value FusedOps::enterBlock(std::int64_t block, const Tensor& x)
{
    if (!parallelism_)
        return x;
    parallelism_->enterBlock(block, x->data);
    quantizeBlock(block);
    note("", {}, [this, block] {
        forgetQuantized(block);
        handOverGradients();
    });
    return x;
}

// Backward enters a block from its end.
Value FusedOps::leaveBlock(std::int64_t block, const Tensor& x)
{
    if (!parallelism_)
        return x;
    if (!isRecomputing_)
        forgetQuantized(block);
    parallelism_->leaveBlock(block, x->data);
    note("", {}, [this, block] {
        handOverGradients(); // gradients of the final norm and the head, before those of the last block
        parallelism_->enterBlock(block, {});
        quantizeBlock(block);
    });
    return x;
}

void FusedOps::quantizeBlock(std::int64_t block)
{
    if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
        for (const Tensor& weight : found->second)
            if (!weight->quantized)
                weight->quantized = std::make_shared<QuantizedWeight>(weight->data);
}

void FusedOps::forgetQuantized(std::int64_t block)
{
    if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
        for (const Tensor& weight : found->second)
            weight->quantized.reset();
}

// Runs on the current stream, because the ranks free memory on it.
void FusedOps::handOverGradients()
{
    side_->join();
    for (const Tensor& parameter : std::exchange(withGradient_, {}))
        parallelism_->gradientMade(parameter->data, taken(parameter));
}

void FusedOps::note(const char* op, std::vector<Tensor> saved, std::function<void()> backward)
{
    if (recording_)
        notes_.push_back({openModules(), op, std::move(saved), std::move(backward)});
}

Value FusedOps::embedding(const Tensor& weight, const Tensor& tokens)
{
    const Value x = valueOf(at::embedding(weight->data, tokens->data));
    note("aten::embedding", {tokens}, [this, weight, tokens, x] {
        weight->grad = embeddingBackward(taken(x), tokens->data, weight->data.size(0));
        x->gradRounded.reset();
        tellGradient(weight);
    });
    return x;
}

Value FusedOps::rmsNorm(const Tensor& x, const Tensor& weight)
{
    if (x->addendLater)
        x->addend = std::exchange(x->addendLater, {})();
    const auto addend = x->addend.defined() ? std::optional(std::exchange(x->addend, {})) : std::nullopt;
    auto [y, sum, reciprocal] = addRmsNorm(x->data, addend, weight->data, options_.elements);
    if (addend)
        x->data = std::move(sum);
    const Value normed = valueOf(std::move(y));
    const Value rows = valueOf(std::move(reciprocal));
    normed->isRecomputed = dropsSums();
    note("tilescope::add_rms_norm", {x, weight, rows}, [this, x, weight, rows, normed] {
        const auto residual = x->grad.defined() ? std::optional(taken(x)) : std::nullopt;
        Data again; // the output
        if (!x->data.defined())
            std::tie(again, x->data, std::ignore) =
                addRmsNorm(x->base->data, std::exchange(x->again, {})(), weight->data, options_.elements);
        Data parts;
        std::tie(x->grad, x->gradRounded, parts) =
            rmsNormBackward(taken(normed), x->data, weight->data, rows->data, residual);
        if (normed->whenRecomputed) {
            if (!again.defined())
                again = std::get<0>(addRmsNorm(x->data, std::nullopt, weight->data, options_.elements));
            std::exchange(normed->whenRecomputed, {})(again);
        }
        weight->grad = at::empty_like(weight->data);
        side_->run({parts}, [this, &weight, &parts] {
            sumParts(weight->grad, parts);
            tellGradient(weight);
        });
    });
    return normed;
}

Value FusedOps::mm(const Tensor& x, const Tensor& weight)
{
    if (weight->isByChunks && recording_) {
        headInput_ = x;
        headWeight_ = weight;
        return valueOf({});
    }
    const Value y = valueOf(x->later ? Data() : weightProduct(x->data, weight));
    if (x->later)
        y->later = [this, x, weight] { return weightProduct(std::exchange(x->later, {})(), weight); };
    if (dropsSums() && !x->isRecomputed)
        y->again = [this, x, weight] { return weightProduct(x->data, weight); };
    note("aten::mm", {x, weight}, [this, x, weight, y] {
        const Data gradient = taken(y);
        x->grad = inputGradient(gradient, weight);
        if (x->isRecomputed)
            x->whenRecomputed = [this, weight, gradient](const Data& data) {
                weightGradient(weight, data, gradient);
            };
        else
            weightGradient(weight, x->data, gradient);
    });
    if (x->isRecomputed && recording_)
        x->data.reset();
    return y;
}

Data FusedOps::weightProduct(const Data& x, const Tensor& weight) const
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

// The product writes the type of sums directly, in the weight's layout, whose transpose is row-major.
void FusedOps::weightGradient(const Tensor& weight, const Data& x, const Data& gradient)
{
    if (updater_ && canUpdateWithGradient(weight->data.size(0), weight->data.size(1)))
        return side_->run({x, gradient}, [this, &weight, &x, &gradient] { updater_(weight, gradient, x); });
    weight->grad = gradientLike(weight);
    side_->run({x, gradient}, [this, &weight, &x, &gradient] {
        computeWeightGradient(weight, ProductTarget::Set, x, gradient);
        tellGradient(weight);
    });
}

void FusedOps::computeWeightGradient(const Tensor& weight, ProductTarget how, const Data& x,
                                     const Data& gradient) const
{
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

void FusedOps::tellGradient(const Tensor& parameter)
{
    if (parallelism_)
        withGradient_.push_back(parameter);
    if (observer_)
        observer_(parameter);
}

Value FusedOps::add(const Tensor& x, const Tensor& y)
{
    const Value sum = valueOf(x->data);
    sum->addend = std::exchange(y->data, {});
    sum->addendLater = std::exchange(y->later, {});
    if (y->again) {
        sum->again = std::exchange(y->again, {});
        sum->base = x;
    }
    note("aten::add", {}, [x, y, sum] {
        x->grad = taken(sum);
        y->grad = std::exchange(sum->gradRounded, {});
    });
    if (x->again)
        x->data.reset();
    return sum;
}

TensorTriple<Data> FusedOps::heads(const Data& packed) const
{
    const Data byHead = packed.view({batch_, context_, 3, heads_, headDim_}).permute({2, 0, 3, 1, 4});
    return {byHead.select(0, 0), byHead.select(0, 1), byHead.select(0, 2)};
}

TensorTriple<Value> FusedOps::splitHeads(const Tensor& qkv)
{
    rotateHeads(qkv->data, rotation_, 2 * heads_, false);
    note("tilescope::rotate_heads_", {},
         [this, qkv] { rotateHeads(qkv->grad, rotation_, 2 * heads_, true); });
    const TensorTriple<Data> parts = heads(qkv->data);
    return {partOf(qkv, parts[0]), partOf(qkv, parts[1]), partOf(qkv, parts[2])};
}

FusedOps::Attended FusedOps::attend(const TensorTriple<Tensor>& qkv)
{
    if (!attended_.empty()) {
        const Attended kept = std::move(attended_.front());
        attended_.pop_front();
        return {valueOf(std::exchange(kept.output->data, {})),
                valueOf(std::exchange(kept.statistics->data, {}))};
    }
    auto [o, logSumExp, exact] =
        attentionForward({qkv[0]->data, qkv[1]->data, qkv[2]->data}, options_.tf32 ? "tf32" : "ieee",
                         recording_ || keeping_ != nullptr);
    // (batch, context, heads, head dim) in memory, like q.
    const Data output = o.transpose(1, 2).reshape({batch_ * context_, heads_ * headDim_});
    const Data statistics = exact.dim() > 1 ? exact : logSumExp;
    if (keeping_ != nullptr)
        keeping_->push_back({valueOf(output), valueOf(statistics)});
    return {valueOf(output), valueOf(statistics)};
}

Value FusedOps::attention(const TensorTriple<Tensor>& qkv)
{
    const std::string_view fp32 = options_.tf32 ? "tf32" : "ieee";
    const Value packed = qkv[0]->packed;
    const Attended attended = attend(qkv);
    const Value merged = attended.output;
    const Value statistics = attended.statistics;
    note("tilescope::attention", {packed, merged, statistics}, [this, fp32, packed, merged, statistics] {
        const auto byHead = [this](const Data& data) {
            return data.view({batch_, context_, heads_, headDim_}).transpose(1, 2);
        };
        packed->grad = at::empty_like(packed->data);
        const Data gradO = byHead(taken(merged));
        const Data output = byHead(merged->data);
        attentionBackward({gradO, heads(packed->data), output, statistics->data}, fp32,
                          options_.deterministic, heads(packed->grad));
    });
    return merged;
}

Value FusedOps::swiGlu(const Tensor& gateUp)
{
    const bool isPutOff = isRecomputing_ && recording_;
    gated_.reset();
    const Value y = valueOf(isPutOff ? Data() : swiGluForward(gateUp->data));
    if (keepsAttention_ && !isRecomputing_)
        gated_ = y->data;
    if (isPutOff)
        y->later = [gateUp] { return swiGluForward(gateUp->data); };
    y->isRecomputed = true;
    note("tilescope::swiglu", {gateUp}, [gateUp, y] {
        const Data gradient = taken(y);
        swiGluBackward(gradient, gateUp->data);
        gateUp->grad = std::exchange(gateUp->data, {});
        std::exchange(y->whenRecomputed, {})(gradient); // swiGluBackward() has replaced its values with y
    });
    return y;
}

// Runs the part again on the same inputs and sets their gradients. Its notes are separate, so that only one
// part is in memory at a time.
Value FusedOps::recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs)
{
    std::vector<Attended> attended;
    const bool wasRecording = std::exchange(recording_, false);
    keeping_ = wasRecording && keepsAttention_ ? &attended : nullptr;
    const Value output = part(inputs);
    keeping_ = nullptr;
    recording_ = wasRecording;
    std::vector<Value> kept;
    std::ranges::copy_if(inputs, std::back_inserter(kept),
                         [](const Value& input) { return input != nullptr; });
    for (const Attended& each : attended)
        kept.insert(kept.end(), {each.output, each.statistics});
    note("tilescope::recomputed", std::move(kept), [this, &part, inputs, output, attended] {
        std::vector<Note> outer = std::exchange(notes_, {});
        attended_.assign(attended.begin(), attended.end());
        isRecomputing_ = recording_ = true;
        const Value again = part(inputs);
        isRecomputing_ = recording_ = false;
        again->addendLater = {};
        again->grad = taken(output);
        again->gradRounded = std::exchange(output->gradRounded, {});
        runNotes();
        notes_ = std::move(outer);
    });
    return output;
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
        const Data logits = weightProduct(part, weight);
        losses.push_back(crossEntropyInPlace(logits, targets.narrow(0, begin, count), batches_ * tokens));
        Data gradPart = x->grad.narrow(0, begin, count);
        setInputGradient(gradPart, logits, weight);
        computeWeightGradient(weight, begin == 0 ? ProductTarget::Set : ProductTarget::Add, part, logits);
    }
    x->data.reset();
    note("tilescope::cross_entropy_", {}, [this, weight] { tellGradient(weight); });
    return at::cat(losses).mean();
}

void FusedOps::backward()
{
    gated_.reset();
    const bool wasRecording = std::exchange(recording_, false);
    runNotes();
    if (parallelism_)
        handOverGradients();
    side_->join();
    recording_ = wasRecording;
}

void FusedOps::forget()
{
    notes_.clear();
    for (const auto& [block, weights] : toQuantize_)
        forgetQuantized(block);
    attended_.clear();
    gated_.reset();
    keeping_ = nullptr;
    isRecomputing_ = false;
    withGradient_.clear();
    headInput_.reset();
    headWeight_.reset();
    side_->join();
}

// Runs each note within its own ranges, opened inside the current ones.
void FusedOps::runNotes()
{
    const std::size_t base = openModules().size();
    std::vector<std::unique_ptr<FusedRange>> open;
    while (!notes_.empty()) {
        const Note note = std::move(notes_.back());
        notes_.pop_back();
        const std::vector<std::string>& now = openModules();
        const auto [differs, ignored] =
            std::mismatch(note.modules.begin(), note.modules.end(), now.begin(), now.end());
        const auto common = std::max(base, static_cast<std::size_t>(differs - note.modules.begin()));
        while (openModules().size() > common)
            open.pop_back();
        for (std::size_t i = common; i < note.modules.size(); ++i)
            open.push_back(std::make_unique<FusedRange>(note.modules[i]));
        note.backward();
    }
    while (!open.empty())
        open.pop_back();
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
