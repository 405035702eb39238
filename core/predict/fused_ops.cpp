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

/// The gradient of a value, which is not used again.
Tensor taken(const Value& value)
{
    return std::exchange(value->grad, {});
}

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
    : ops_(ops), tokens_(spec.batch * spec.context), width_(spec.dModel), chunkRows_(fusedLossRows(spec)),
      elements_(isIn16Bits(spec.precision) ? Type::BFloat16 : Type::Float32),
      splitsProducts_(spec.precision == Precision::Fp32x6),
      quantizesProducts_(spec.precision == Precision::Fp8), trains_(spec.mode == Mode::Train),
      updatesWithGradients_(updatesWithGradients(spec, device.isCuda ? device.computeMajor : 0)),
      attention_(std::make_shared<FlashAttention>(attentionCallOf(spec, elements_), device, ops)),
      side_(std::make_shared<SideWork>(ops)), leaves_(std::make_unique<Leaves>()),
      parallel_(makeParallelMemory(spec, ops, *leaves_)), keepsAttention_(keepsAttention(spec))
{
    rotation_ = ops.memory().make(spec.context * (spec.dModel / spec.heads) * kFloat, MemoryCategory::Inputs,
                                  "rotation");
    ops.allowTf32(spec.precision == Precision::Tf32);
}

Value CountedFusedOps::valueOf(predict::Tensor data) const
{
    Value value = std::make_shared<FusedValue>();
    value->data = std::move(data);
    return value;
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

Value CountedFusedOps::enterBlock(std::int64_t block, const Tensor& x)
{
    if (!parallel_)
        return x;
    parallel_->enterBlock(block, x->data);
    quantizeBlock(block);
    note({}, [this, block] {
        forgetQuantized(block);
        handOverGradients();
    });
    return x;
}

Value CountedFusedOps::leaveBlock(std::int64_t block, const Tensor& x)
{
    if (!parallel_)
        return x;
    if (!isRecomputing_)
        forgetQuantized(block);
    parallel_->leaveBlock(block, x->data);
    note({}, [this, block] {
        handOverGradients(); // of the norm and the head, before the last block
        parallel_->enterBlock(block, {});
        quantizeBlock(block);
    });
    return x;
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

void CountedFusedOps::quantizeBlock(std::int64_t block)
{
    if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
        for (const ToQuantize& each : found->second)
            if (!each.weight->quantized) {
                each.weight->quantized = quantizedStorage(each.in, each.out);
                quantize(each.weight);
            }
}

void CountedFusedOps::forgetQuantized(std::int64_t block)
{
    if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
        for (const ToQuantize& each : found->second)
            each.weight->quantized.reset();
}

void CountedFusedOps::handOverGradients()
{
    side_->join();
    for (const Tensor& parameter : std::exchange(withGradient_, {})) {
        leaves_->gradients[static_cast<std::size_t>(parameter->leaf)] = taken(parameter);
        leaves_->accumulated(parameter->leaf);
    }
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
        if (quantizesProducts_ && !isHead)
            toQuantize_[blockNumber(name).value()].push_back({weight, map.in, map.out});
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

void CountedFusedOps::note(std::initializer_list<Tensor> saved, std::function<void()> backward)
{
    if (!recording_)
        return;
    for (const Tensor& value : saved)
        if (!value->isHeld)
            ops_.memory().recategorize(value->data.storage, MemoryCategory::Activations);
    notes_.push_back({std::move(backward)});
}

Value CountedFusedOps::embedding(const Tensor& weight, const Tensor& tokens)
{
    const Value x = valueOf(made(tokens_ * width_, Type::Float32, "embedding"));
    streams(ops_, 2 * x->data.bytes());
    note({tokens}, [this, weight, tokens, x] {
        const predict::Tensor gradient = taken(x);
        streams(ops_, gradient.bytes() + weight->data.bytes());
        weight->grad = gradientOf(weight, "gradient of the embedding");
        x->gradRounded = {};
        tellGradient(weight);
    });
    return x;
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
CountedFusedOps::Normed CountedFusedOps::addRmsNorm(const predict::Tensor& x, const predict::Tensor& addend)
{
    Normed made{.output = this->made(x.count, elements_, "normed")};
    streams(ops_, x.bytes() + made.output.bytes());
    if (addend) {
        streams(ops_, x.bytes() + addend.bytes());
        made.sum = this->made(x.count, Type::Float32, "residual stream");
    }
    made.rows = this->made(tokens_, Type::Float32, "reciprocal root mean squares");
    return made;
}

Value CountedFusedOps::rmsNorm(const Tensor& x, const Tensor& weight)
{
    if (x->addendLater)
        x->addend = std::exchange(x->addendLater, {})();
    Normed forward = addRmsNorm(x->data, std::exchange(x->addend, {}));
    if (forward.sum)
        x->data = std::move(forward.sum);
    const Value normed = valueOf(std::move(forward.output));
    const Value rows = valueOf(std::move(forward.rows));
    normed->isRecomputed = dropsSums();
    note({x, weight, rows}, [this, x, weight, rows, normed] {
        const predict::Tensor residual = taken(x);
        predict::Tensor again;
        if (!x->data) {
            Normed second = addRmsNorm(x->base->data, std::exchange(x->again, {})());
            again = std::move(second.output);
            x->data = std::move(second.sum);
        }
        predict::Tensor parts;
        {
            const predict::Tensor gradient = taken(normed);
            x->grad = made(x->data.count, Type::Float32, "gradient of a norm's input");
            x->gradRounded = made(x->data.count, elements_, "gradient of a norm's input, rounded");
            parts =
                made(normParts() * weight->data.count, Type::Float32, "parts of a norm weight's gradient");
            streams(ops_, 2 * x->data.bytes() + 2 * gradient.bytes() + residual.bytes() + parts.bytes());
        }
        if (normed->whenRecomputed) {
            if (!again)
                again = addRmsNorm(x->data, {}).output;
            std::exchange(normed->whenRecomputed, {})(again);
        }
        weight->grad = gradientOf(weight, "gradient of a norm's weight");
        side_->run({parts}, [&] {
            streams(ops_, parts.bytes());
            tellGradient(weight);
        });
    });
    return normed;
}

Value CountedFusedOps::mm(const Tensor& x, const Tensor& weight)
{
    if (weight->isByChunks && recording_) {
        headInput_ = x;
        headWeight_ = weight;
        return valueOf({});
    }
    const Value y = valueOf(x->later ? predict::Tensor() : weightProduct(x->data, weight, tokens_));
    if (x->later)
        y->later = [this, x, weight] {
            return weightProduct(std::exchange(x->later, {})(), weight, tokens_);
        };
    if (dropsSums() && !x->isRecomputed)
        y->again = [this, x, weight] { return weightProduct(x->data, weight, tokens_); };
    note({x, weight}, [this, x, weight, y] {
        const predict::Tensor gradient = taken(y);
        x->grad = inputGradient(gradient, weight);
        if (x->isRecomputed)
            x->whenRecomputed = [this, weight, gradient](const predict::Tensor& data) {
                weightGradient(weight, data, gradient);
            };
        else
            weightGradient(weight, x->data, gradient);
    });
    if (x->isRecomputed && recording_)
        x->data = {};
    return y;
}

/// \param count  values of the result
void CountedFusedOps::multiply(const predict::Tensor& a, const predict::Tensor& b, std::int64_t count)
{
    if (splitsProducts_)
        return ops_.splitProductInto(a, b, count);
    ops_.useWorkspace();
    ops_.multiplies(a, b, count, 1);
}

void CountedFusedOps::multiplyWeight(const predict::Tensor& a, const Tensor& weight, std::int64_t count,
                                     bool isForward)
{
    if (weight->parts)
        ops_.keptProductInto(a, weight->data, count, isForward ? 3 : 6);
    else
        multiply(a, weight->data, count);
}

// As fp8Product() and fp8InputGradient() of core/engine/lm/fp8_product.cpp.
Tensor CountedFusedOps::quantizedProduct(const predict::Tensor& a, const Tensor& weight, std::int64_t count,
                                         const char* what)
{
    predict::Tensor left = made(a.count, Type::Float8, "factor in fp8");
    const predict::Tensor scales = made(tokens_, Type::Float32, "scales of a factor");
    predict::Tensor right{.count = weight->data.count, .type = Type::Float8};
    streams(ops_, a.bytes() + left.bytes());
    if (ops_.isCuda()) {
        if (!scaledWorkspace_)
            scaledWorkspace_ =
                ops_.memory().make(kScaledWorkspace, MemoryCategory::Workspace, "cuBLASLt workspace");
        ops_.multiplies(left, right, count, 1);
        return made(count, Type::BFloat16, what);
    }
    predict::Tensor sums;
    {
        const predict::Tensor wide[] = {made(left.count, Type::Float32, "factor in fp8, widened"),
                                        made(right.count, Type::Float32, "weight in fp8, widened")};
        sums = made(count, Type::Float32, "product, not scaled");
        streams(ops_, wide[0].bytes() + wide[1].bytes());
        ops_.multiplies(wide[0], wide[1], count, 1);
    }
    streams(ops_, 5 * sums.bytes());
    return made(count, Type::BFloat16, what);
}

Tensor CountedFusedOps::weightProduct(const predict::Tensor& x, const Tensor& weight, std::int64_t rows)
{
    const std::int64_t count = rows * (weight->data.count / (x.count / rows));
    if (weight->quantized)
        return quantizedProduct(x, weight, count, "product");
    predict::Tensor result = made(count, elements_, "product");
    multiplyWeight(x, weight, count, true);
    return result;
}

Tensor CountedFusedOps::inputGradient(const predict::Tensor& gradient, const Tensor& weight)
{
    constexpr const char* kWhat = "gradient of a product's input";
    const std::int64_t count = tokens_ * (weight->data.count / (gradient.count / tokens_));
    if (weight->quantized)
        return quantizedProduct(gradient, weight, count, kWhat);
    predict::Tensor result = made(count, elements_, kWhat);
    multiplyWeight(gradient, weight, count, false);
    return result;
}

Tensor CountedFusedOps::gradientOf(const Tensor& weight, const char* what)
{
    predict::Tensor gradient{.count = weight->data.count};
    gradient.storage = ops_.memory().make(gradient.bytes(), MemoryCategory::Gradients, what);
    return gradient;
}

void CountedFusedOps::weightGradient(const Tensor& weight, const predict::Tensor& x,
                                     const predict::Tensor& gradient)
{
    if (updatesWithGradients_ && canUpdateWithGradient(x.count / tokens_, gradient.count / tokens_))
        return side_->run({x, gradient}, [&] { updateWithGradient(weight, x, gradient); });
    weight->grad = gradientOf(weight, "gradient of a weight");
    side_->run({x, gradient}, [&] {
        setWeightGradient(weight, x, gradient);
        tellGradient(weight);
    });
}

// Weight, remainder and moments are read and written, at 0.77 of a copy's rate; the product reaches 0.6 of that of a
// large one (kernels/NOTES.md).
void CountedFusedOps::updateWithGradient(const Tensor& weight, const predict::Tensor& x,
                                         const predict::Tensor& gradient)
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
void CountedFusedOps::setWeightGradient(const Tensor& weight, const predict::Tensor& x,
                                        const predict::Tensor& gradient)
{
    if (elements_ == Type::Float32 || ops_.isCuda())
        return multiply(gradient, x, weight->data.count);
    const predict::Tensor wide[] = {made(x.count, Type::Float32, "activation, widened"),
                                    made(gradient.count, Type::Float32, "gradient, widened")};
    streams(ops_, 2 * (wide[0].bytes() + wide[1].bytes()));
    multiply(wide[1], wide[0], weight->data.count);
}

void CountedFusedOps::tellGradient(const Tensor& parameter)
{
    if (parallel_)
        withGradient_.push_back(parameter);
    if (observer_)
        observer_(parameter);
}

Value CountedFusedOps::add(const Tensor& x, const Tensor& y)
{
    const Value sum = valueOf(x->data);
    sum->addend = std::exchange(y->data, {});
    sum->addendLater = std::exchange(y->later, {});
    if (y->again) {
        sum->again = std::exchange(y->again, {});
        sum->base = x;
    }
    note({}, [x, y, sum] {
        x->grad = taken(sum);
        y->grad = std::exchange(sum->gradRounded, {});
    });
    if (x->again)
        x->data = {};
    return sum;
}

TensorTriple<Value> CountedFusedOps::splitHeads(const Tensor& qkv)
{
    const auto rotate = [this](std::int64_t bytes) { streams(ops_, 2 * bytes * 2 / 3); };
    rotate(qkv->data.bytes());
    note({}, [qkv, rotate] { rotate(qkv->grad.bytes()); });
    TensorTriple<Value> parts;
    for (Value& part : parts) {
        part = valueOf(qkv->data);
        part->data.count /= 3;
        part->packed = qkv;
    }
    return parts;
}

CountedFusedOps::Attended CountedFusedOps::attend()
{
    if (!attended_.empty()) {
        const Attended kept = std::move(attended_.front());
        attended_.pop_front();
        return {valueOf(std::exchange(kept.output->data, {})),
                valueOf(std::exchange(kept.statistics->data, {}))};
    }
    FlashAttention::Output output = attention_->forward(recording_ || keeping_ != nullptr);
    if (keeping_ != nullptr)
        keeping_->push_back({valueOf(output.o), valueOf(output.statistics)});
    return {valueOf(std::move(output.o)), valueOf(std::move(output.statistics))};
}

Value CountedFusedOps::attention(const TensorTriple<Tensor>& qkv)
{
    const Value packed = qkv[0]->packed;
    const Attended attended = attend();
    const Value merged = attended.output;
    const Value statistics = attended.statistics;
    note({packed, merged, statistics}, [this, packed, merged, statistics] {
        packed->grad = made(packed->data.count, elements_, "gradient of q, k and v");
        const predict::Tensor gradient = taken(merged);
        attention_->backward();
    });
    return merged;
}

Value CountedFusedOps::swiGlu(const Tensor& gateUp)
{
    const auto gated = [this, gateUp] {
        predict::Tensor result = made(gateUp->data.count / 2, elements_, "gated");
        streams(ops_, gateUp->data.bytes() + result.bytes());
        return result;
    };
    const bool isPutOff = isRecomputing_ && recording_;
    gated_ = {};
    const Value y = valueOf(isPutOff ? predict::Tensor() : gated());
    if (keepsAttention_ && !isRecomputing_)
        gated_ = y->data;
    if (isPutOff)
        y->later = gated;
    y->isRecomputed = true;
    note({gateUp}, [this, gateUp, y] {
        const predict::Tensor gradient = taken(y);
        streams(ops_, 2 * gateUp->data.bytes() + 2 * gradient.bytes());
        gateUp->grad = std::exchange(gateUp->data, {});
        std::exchange(y->whenRecomputed, {})(gradient);
    });
    return y;
}

Value CountedFusedOps::recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs)
{
    std::vector<Attended> attended;
    const bool wasRecording = std::exchange(recording_, false);
    keeping_ = wasRecording && keepsAttention_ ? &attended : nullptr;
    const Value output = part(inputs);
    keeping_ = nullptr;
    recording_ = wasRecording;
    for (const Value& input : inputs)
        if (input && recording_)
            ops_.memory().recategorize(input->data.storage, MemoryCategory::Activations);
    for (const Attended& each : attended)
        for (const Value& kept : {each.output, each.statistics})
            ops_.memory().recategorize(kept->data.storage, MemoryCategory::Activations);
    note({}, [this, &part, inputs, output, attended] {
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

Tensor CountedFusedOps::crossEntropy(const Tensor& logits)
{
    if (headInput_)
        return crossEntropyByChunks();
    const predict::Tensor losses = made(tokens_, Type::Float32, "losses");
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
    std::vector<predict::Tensor> losses;
    for (std::int64_t begin = 0; begin < tokens_; begin += chunkRows_) {
        const std::int64_t count = std::min(chunkRows_, tokens_ - begin);
        predict::Tensor part = x->data; // a view
        part.count = count * width_;
        const predict::Tensor logits = weightProduct(part, weight, count);
        losses.push_back(made(count, Type::Float32, "losses"));
        streams(ops_, 2 * logits.bytes());
        multiplyWeight(logits, weight, part.count, false);
        setWeightGradient(weight, part, logits);
    }
    x->data = {};
    note({}, [this, weight] { tellGradient(weight); });
    const predict::Tensor all = made(tokens_, Type::Float32, "losses");
    return made(1, Type::Float32, "loss");
}

Tensor CountedFusedOps::sum(const Tensor& logits)
{
    // A sum in fp32 of numbers in bf16 reads them as they are on a GPU only.
    const Storage wide = !ops_.isCuda() && elements_ == Type::BFloat16
                             ? ops_.temporary(logits->data.count * kFloat, "logits, widened")
                             : Storage();
    predict::Tensor loss = made(1, Type::Float32, "loss");
    streams(ops_, 2 * logits->data.bytes());
    logits->grad = std::exchange(logits->data, {});
    return loss;
}

void CountedFusedOps::backward()
{
    gated_ = {};
    const bool wasRecording = std::exchange(recording_, false);
    runNotes();
    if (parallel_)
        handOverGradients();
    side_->join();
    recording_ = wasRecording;
}

void CountedFusedOps::forget()
{
    notes_.clear();
    for (const auto& [block, weights] : toQuantize_)
        forgetQuantized(block);
    attended_.clear();
    gated_ = {};
    keeping_ = nullptr;
    isRecomputing_ = false;
    withGradient_.clear();
    headInput_.reset();
    headWeight_.reset();
    side_->join();
}

void CountedFusedOps::runNotes()
{
    while (!notes_.empty()) {
        const Note note = std::move(notes_.back());
        notes_.pop_back();
        note.backward();
    }
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
