#include "core/predict/fused_ops.h"

#include "core/model/block_name.h"
#include "core/model/fused_loss.h"
#include "core/model/fused_recomputation.h"
#include "core/model/fused_update.h"
#include "core/predict/fused_kernels.h"

#include <algorithm>
#include <utility>

namespace tilescope::predict {

namespace {

using Value = CountedFusedOps::Tensor;

constexpr std::int64_t kScaledWorkspace = 1 << 20; ///< of _scaled_mm
constexpr std::int64_t kHalfBytes = 2;             ///< bytes of a bf16 number
constexpr std::int64_t kParts = 3;                 ///< of an fp32 number in bf16

TypedAttention attentionCallOf(const ExperimentSpec& spec, Type elements)
{
    TypedAttention call = attentionCall(spec);
    call.type = elements;
    return call;
}

/// The kernels of kernels/cuda/lm and fp8 move their bytes as fast as a copy does (kernels/NOTES.md).
void streams(Ops& ops, std::int64_t bytes)
{
    if (ops.log() != nullptr)
        ops.log()->fused(0, static_cast<double>(bytes));
}

} // namespace

void SideWork::run(std::vector<Tensor> operands, const std::function<void()>& work)
{
    constexpr std::size_t kMostPending = 8;
    if (!ops_.isCuda())
        return work();
    if (pending_.size() == kMostPending)
        pending_.pop_front();
    {
        const Ops::BackwardThread ownWorkspace(ops_);
        work();
    }
    if (!operands.empty())
        pending_.push_back(std::move(operands));
}

CountedFusedOps::CountedFusedOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
    : FusedTape(spec.batch * spec.context, keepsAttention(spec), std::make_shared<SideWork>(ops)), ops_(ops),
      width_(spec.dModel), chunkRows_(fusedLossRows(spec)),
      elements_(isIn16Bits(spec.precision) ? Type::BFloat16 : Type::Float32),
      splitsProducts_(spec.precision == Precision::Fp32x6),
      quantizesProducts_(spec.precision == Precision::Fp8), trains_(spec.mode == Mode::Train),
      updatesWithGradients_(updatesWithGradients(spec, device.isCuda ? device.computeMajor : 0)),
      attention_(std::make_shared<FlashAttention>(attentionCallOf(spec, elements_), device, ops)),
      leaves_(std::make_unique<Leaves>()), parallel_(makeParallelMemory(spec, ops, *leaves_))
{
    rotation_ = ops.memory().make(spec.context * (spec.dModel / spec.heads) * kFloat, MemoryCategory::Inputs,
                                  "rotation");
    ops.allowTf32(spec.precision == Precision::Tf32);
}

Tensor CountedFusedOps::made(std::int64_t count, Type type, const char* what)
{
    return ops_.make(count, type, what);
}

// A weight that ranks divide.
Value CountedFusedOps::placed(const std::string& name, std::int64_t count, const LinearMap* map)
{
    const auto leaf = static_cast<std::int32_t>(leaves_->gradients.size());
    leaves_->gradients.emplace_back();
    Value weight = valueOf(parallel_->placed(name, count, map, leaf));
    weight->data.origin = {};
    weight->leaf = leaf;
    weight->isHeld = true;
    return weight;
}

std::shared_ptr<QuantizedStorage> CountedFusedOps::quantizedStorage(std::int64_t in, std::int64_t out)
{
    const auto made = [this](std::int64_t bytes, const char* what) {
        return ops_.memory().make(bytes, MemoryCategory::Parameters, what);
    };
    return std::make_shared<QuantizedStorage>(
        QuantizedStorage{made(in * out, "weight in fp8"), made(in * out, "weight in fp8, transposed"),
                         made(std::max(in, out) * kFloat, "scales of a weight")});
}

Value CountedFusedOps::embeddingWeight(const std::string& /*name*/, std::int64_t rows, std::int64_t width)
{
    return normWeight("embedding", rows * width);
}

Value CountedFusedOps::normWeight(const std::string& name, std::int64_t width)
{
    if (parallel_)
        return placed(name, width, nullptr);
    Value weight = valueOf({.count = width});
    weight->data.storage = ops_.memory().make(weight->data.bytes(), MemoryCategory::Parameters,
                                              name == "embedding" ? "embedding" : "norm");
    weight->isHeld = true;
    return weight;
}

Value CountedFusedOps::linearWeight(const std::string& name, const LinearMap& map)
{
    Memory& memory = ops_.memory();
    const std::int64_t count = map.in * map.out;
    const bool isHead = map.module == std::string_view("lm_head");
    if (parallel_) {
        Value weight = placed(name, count, &map);
        weight->isByChunks = chunkRows_ > 0 && isHead;
        if (quantizesProducts_ && !isHead) {
            weight->in = map.in;
            weight->out = map.out;
            toQuantize_[blockNumber(name).value()].push_back(weight);
        }
        return weight;
    }
    const auto parameter = [&](std::int64_t bytes, const char* what) {
        return memory.make(bytes, MemoryCategory::Parameters, what);
    };
    Value weight = valueOf({.count = count, .type = elements_});
    weight->isHeld = true;
    Storage exact = parameter(count * kFloat, map.name);
    if (elements_ == Type::BFloat16) {
        // Integer operations split the bits of the weight.
        const Storage bits[] = {ops_.temporary(count * kFloat, "weight, rounded"),
                                ops_.temporary(count * kFloat, "upper bits")};
        weight->data.storage = parameter(weight->data.bytes(), map.name);
        const Storage lower = ops_.temporary(count * kFloat, "lower bits");
        const Storage remainder = parameter(weight->data.bytes(), "remainder of a weight");
        if (trains_)
            weight->remainder = remainder;
    } else {
        weight->data.storage = exact;
    }
    weight->isByChunks = chunkRows_ > 0 && isHead;
    if (quantizesProducts_ && !isHead)
        weight->quantized = quantizedStorage(map.in, map.out);
    if (splitsProducts_ && !trains_)
        weight->parts = parameter(kParts * count * kHalfBytes, "parts of a weight");
    return weight;
}

void CountedFusedOps::keepForBackward(const Tensor& value)
{
    if (!value->isHeld)
        ops_.memory().recategorize(value->data.storage, MemoryCategory::Activations);
}

void CountedFusedOps::handOver(const Tensor& parameter)
{
    leaves_->gradients[static_cast<std::size_t>(parameter->leaf)] = taken(parameter);
    leaves_->accumulated(parameter->leaf);
}

void CountedFusedOps::storeIn8Bits(const Tensor& weight)
{
    weight->quantized = quantizedStorage(weight->in, weight->out);
    quantize(weight);
}

Tensor CountedFusedOps::embed(const Tensor& /*weight*/, const Tensor& /*tokens*/)
{
    Data x = made(tokens_ * width_, Type::Float32, "embedding");
    streams(ops_, 2 * x.bytes());
    return x;
}

Tensor CountedFusedOps::embeddingGradient(const Tensor& weight, const Tensor& /*tokens*/,
                                          const Data& gradient)
{
    streams(ops_, gradient.bytes() + weight->data.bytes());
    return gradientOf(weight, "gradient of the embedding");
}

// Of kernels/cuda/lm/rms_norm.cu, and of kernels/torch/lm_ops.cpp for a CPU.
std::int64_t CountedFusedOps::normParts() const
{
    constexpr std::int64_t kBlocksEach = 4;
    constexpr std::int64_t kCpuParts = 16;
    const std::int64_t most = kBlocksEach * static_cast<std::int64_t>(ops_.multiprocessors());
    return ops_.isCuda() ? std::clamp<std::int64_t>((tokens_ + 1) / 2, 1, most) : kCpuParts;
}

// The allocations of tilescope::add_rms_norm.
FusedNorm<Tensor> CountedFusedOps::addRmsNorm(const Data& x, const Data& addend, const Tensor& /*weight*/)
{
    FusedNorm<Data> norm{.output = made(x.count, elements_, "normed")};
    streams(ops_, x.bytes() + norm.output.bytes());
    if (addend) {
        streams(ops_, x.bytes() + addend.bytes());
        norm.sum = made(x.count, Type::Float32, "residual stream");
    }
    norm.rows = made(tokens_, Type::Float32, "reciprocal root mean squares");
    return norm;
}

FusedNormGradients<Tensor> CountedFusedOps::rmsNormBackward(const Data& gradY, const Data& x,
                                                            const Tensor& weight, const Data& /*rows*/,
                                                            const Data& residual)
{
    FusedNormGradients<Data> gradients{
        .input = made(x.count, Type::Float32, "gradient of a norm's input"),
        .rounded = made(x.count, elements_, "gradient of a norm's input, rounded"),
        .parts = made(normParts() * weight->data.count, Type::Float32, "parts of a norm weight's gradient")};
    streams(ops_, 2 * x.bytes() + 2 * gradY.bytes() + residual.bytes() + gradients.parts.bytes());
    return gradients;
}

Tensor CountedFusedOps::gradientOfNorm(const Tensor& weight)
{
    return gradientOf(weight, "gradient of a norm's weight");
}

void CountedFusedOps::sumParts(const Tensor& /*weight*/, const Data& parts)
{
    streams(ops_, parts.bytes());
}

/// \param count  values of the result
void CountedFusedOps::multiply(const Data& a, const Data& b, std::int64_t count)
{
    if (splitsProducts_)
        return ops_.splitProductInto(a, b, count);
    ops_.useWorkspace();
    ops_.multiplies(a, b, count, 1);
}

void CountedFusedOps::multiplyWeight(const Data& a, const Tensor& weight, std::int64_t count, bool isForward)
{
    if (weight->parts)
        return ops_.keptProductInto(a, weight->data, count, isForward ? 3 : 6);
    multiply(a, weight->data, count);
    ops_.usesScratch(a.type, a, weight->data, count);
}

// As fp8Product() and fp8InputGradient() of core/engine/lm/fp8_product.cpp.
Tensor CountedFusedOps::quantizedProduct(const Data& a, const Tensor& weight, std::int64_t count,
                                         const char* what)
{
    Data left = made(a.count, Type::Float8, "factor in fp8");
    const Data scales = made(tokens_, Type::Float32, "scales of a factor");
    Data right{.count = weight->data.count, .type = Type::Float8};
    streams(ops_, a.bytes() + left.bytes());
    if (ops_.isCuda()) {
        if (!scaledWorkspace_)
            scaledWorkspace_ =
                ops_.memory().make(kScaledWorkspace, MemoryCategory::Workspace, "cuBLASLt workspace");
        ops_.multiplies(left, right, count, 1);
        return made(count, Type::BFloat16, what);
    }
    Data sums;
    {
        const Data wide[] = {made(left.count, Type::Float32, "factor in fp8, widened"),
                             made(right.count, Type::Float32, "weight in fp8, widened")};
        sums = made(count, Type::Float32, "product, not scaled");
        streams(ops_, wide[0].bytes() + wide[1].bytes());
        ops_.multiplies(wide[0], wide[1], count, 1);
    }
    streams(ops_, 5 * sums.bytes());
    return made(count, Type::BFloat16, what);
}

Tensor CountedFusedOps::weightProduct(const Data& x, const Tensor& weight, std::int64_t rows)
{
    const std::int64_t count = rows * (weight->data.count / (x.count / rows));
    if (weight->quantized)
        return quantizedProduct(x, weight, count, "product");
    Data result = made(count, elements_, "product");
    multiplyWeight(x, weight, count, true);
    return result;
}

Tensor CountedFusedOps::inputGradient(const Data& gradient, const Tensor& weight)
{
    constexpr const char* kWhat = "gradient of a product's input";
    const std::int64_t count = tokens_ * (weight->data.count / (gradient.count / tokens_));
    if (weight->quantized)
        return quantizedProduct(gradient, weight, count, kWhat);
    Data result = made(count, elements_, kWhat);
    multiplyWeight(gradient, weight, count, false);
    return result;
}

Tensor CountedFusedOps::gradientOf(const Tensor& weight, const char* what)
{
    Data gradient{.count = weight->data.count};
    gradient.storage = ops_.memory().make(gradient.bytes(), MemoryCategory::Gradients, what);
    return gradient;
}

Tensor CountedFusedOps::gradientLike(const Tensor& weight)
{
    return gradientOf(weight, "gradient of a weight");
}

bool CountedFusedOps::updatesWithGradient(const Tensor& /*weight*/, const Data& x, const Data& gradient) const
{
    return updatesWithGradients_ && canUpdateWithGradient(x.count / tokens_, gradient.count / tokens_);
}

// Weight, remainder and moments are read and written, at 0.77 of a copy's rate; the product reaches 0.6 of that of a
// large one (kernels/NOTES.md).
void CountedFusedOps::updateWithGradient(const Tensor& weight, const Data& x, const Data& gradient)
{
    constexpr std::int64_t kStreams = 6;
    constexpr double kPaceOfBytes = 0.77;
    constexpr double kPaceOfProduct = 0.6;
    if (WorkLog* const log = ops_.log()) {
        const auto count = static_cast<double>(weight->data.count);
        const double flops = 2 * count * static_cast<double>(tokens_);
        const auto factors = static_cast<double>(x.bytes() + gradient.bytes());
        log->fused(flops / (kPaceOfProduct * log->rates().flops(Type::BFloat16, false)),
                   (kStreams * kFloat * count + factors) / kPaceOfBytes);
    }
    if (weight->quantized)
        quantize(weight);
}

// Without CUDA, factors in bf16 are widened.
void CountedFusedOps::computeWeightGradient(const Tensor& weight, bool /*sets*/, const Data& x,
                                            const Data& gradient)
{
    if (elements_ == Type::Float32 || ops_.isCuda())
        return multiply(gradient, x, weight->data.count);
    const Data wide[] = {made(x.count, Type::Float32, "activation, widened"),
                         made(gradient.count, Type::Float32, "gradient, widened")};
    streams(ops_, 2 * (wide[0].bytes() + wide[1].bytes()));
    multiply(wide[1], wide[0], weight->data.count);
}

void CountedFusedOps::rotate(const Data& packed, bool /*inverse*/)
{
    streams(ops_, 2 * packed.bytes() * 2 / 3);
}

TensorTriple<Tensor> CountedFusedOps::heads(const Data& packed) const
{
    Data part = packed;
    part.count /= 3;
    return {part, part, part};
}

FusedAttention<Tensor> CountedFusedOps::attentionForward(const TensorTriple<Data>& /*qkv*/, bool keeps)
{
    FlashAttention::Output output = attention_->forward(keeps);
    return {std::move(output.o), std::move(output.statistics)};
}

Tensor CountedFusedOps::gradientOfHeads(const Data& packed)
{
    return made(packed.count, elements_, "gradient of q, k and v");
}

void CountedFusedOps::attentionBackward(const Tensor& /*packed*/, const Data& /*gradO*/, const Data& /*o*/,
                                        const Data& /*statistics*/)
{
    attention_->backward();
}

Tensor CountedFusedOps::swiGluForward(const Data& gateUp)
{
    Data result = made(gateUp.count / 2, elements_, "gated");
    streams(ops_, gateUp.bytes() + result.bytes());
    return result;
}

void CountedFusedOps::swiGluBackward(const Data& gradient, const Data& gateUp)
{
    streams(ops_, 2 * gateUp.bytes() + 2 * gradient.bytes());
}

Tensor CountedFusedOps::crossEntropy(const Tensor& logits)
{
    if (headInput_)
        return crossEntropyByChunks();
    const Data losses = made(tokens_, Type::Float32, "losses");
    streams(ops_, 2 * logits->data.bytes());
    logits->grad = std::exchange(logits->data, {});
    return made(1, Type::Float32, "loss");
}

Tensor CountedFusedOps::crossEntropyByChunks()
{
    const Value x = std::exchange(headInput_, {});
    const Value weight = std::exchange(headWeight_, {});
    x->grad = made(x->data.count, elements_, "gradient of the head's input");
    weight->grad = gradientOf(weight, "gradient of a weight");
    std::vector<Data> losses;
    for (std::int64_t begin = 0; begin < tokens_; begin += chunkRows_) {
        const std::int64_t count = std::min(chunkRows_, tokens_ - begin);
        Data part = x->data; // a view
        part.count = count * width_;
        const Data logits = weightProduct(part, weight, count);
        losses.push_back(made(count, Type::Float32, "losses"));
        streams(ops_, 2 * logits.bytes());
        multiplyWeight(logits, weight, part.count, false);
        computeWeightGradient(weight, begin == 0, part, logits);
    }
    x->data = {};
    note("tilescope::cross_entropy_", {}, [this, weight] { tellGradient(weight); });
    const Data all = made(tokens_, Type::Float32, "losses");
    return made(1, Type::Float32, "loss");
}

Tensor CountedFusedOps::sum(const Tensor& logits)
{
    // A sum in fp32 of numbers in bf16 reads them as they are on a GPU only.
    const Storage wide = !ops_.isCuda() && elements_ == Type::BFloat16
                             ? ops_.temporary(logits->data.count * kFloat, "logits, widened")
                             : Storage();
    Data loss = made(1, Type::Float32, "loss");
    streams(ops_, 2 * logits->data.bytes());
    logits->grad = std::exchange(logits->data, {});
    return loss;
}

// Weight, remainder and moments are read and written, the gradient is read: the bytes are the same in every precision.
void CountedFusedOps::update(const Tensor& parameter)
{
    constexpr std::int64_t kStreams = 7;
    streams(ops_, kStreams * kFloat * parameter->data.count);
    if (parameter->quantized)
        quantize(parameter);
}

// The weight in 8 bits is written twice, after it was read for its largest value and once more.
void CountedFusedOps::quantize(const Tensor& weight)
{
    constexpr std::int64_t kBytes = 6;
    ops_.temporary(kFloat, "largest value of a weight");
    streams(ops_, kBytes * weight->data.count);
}

} // namespace tilescope::predict
