#include "core/predict/generation.h"

#include "core/model/attention_backend.h"
#include "core/model/generation.h"

#include <utility>

namespace tilescope::predict {

namespace {

/// The most rows of the kernel that multiplies by weights in E4M3: kMostProductRows of kernels/include/generation.h.
constexpr std::int64_t kMostRowsInFp8 = 16;
/// What cuBLAS takes, once, for products of one row (LibTorch 2.11, measured on an H200).
constexpr std::int64_t kWorkspaceOfRow = std::int64_t{1} << 20;

/// The call of the prompt, or of one new token that sees `keys`.
TypedAttention callOf(const ExperimentSpec& spec, Type type, std::int64_t keys)
{
    TypedAttention call{attentionOf(spec), type};
    if (keys > 0) {
        call.queries = 1;
        call.keys = keys;
        call.causal = false;
    }
    return call;
}

} // namespace

CountedGenerationOps::CountedGenerationOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
    : spec_(spec), device_(device), ops_(ops),
      type_(spec.precision == Precision::Bf16 ? Type::BFloat16 : Type::Float32),
      headDim_(spec.dModel / spec.heads), groupsHeads_(traitsOf(spec.backend).groupsHeads),
      isFused_(spec.compile.kind == CompileRequest::Kind::Fused),
      prefill_(makeAttention(spec.backend, callOf(spec, type_, 0), device, ops)),
      decode_(makeAttention(spec.backend, callOf(spec, type_, cachedTokens(spec)), device, ops))
{
    const int rotations = isFused_ ? 1 : 2;
    for (int i = 0; i < rotations; ++i)
        hold(cachedTokens(spec) * (headDim_ / 2) * bytesOf(Type::Complex64), "rotation");
    holdCache();
}

void CountedGenerationOps::hold(std::int64_t bytes, const char* what)
{
    held_.push_back(ops_.memory().make(bytes, MemoryCategory::Inputs, what));
}

void CountedGenerationOps::holdCache()
{
    const std::int64_t ofLayer = cacheBytes(spec_).count / (2 * spec_.layers);
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer)
        for (const char* what : {"keys", "values"})
            hold(ofLayer, what);
    if (spec_.cache != CacheKind::Paged)
        return;
    const std::int64_t pages = spec_.batch * pagesOfSequence(spec_);
    hold(pages * bytesOf(Type::Int32), "pages of the cache");
    hold(pages * spec_.page * bytesOf(Type::Int64), "slots of the cache");
}

// Weights are drawn in fp32 and rounded. What that leaves free decides where later blocks lie.
Tensor CountedGenerationOps::weight(std::int64_t count, Type type, const char* what)
{
    const Storage drawn =
        type == Type::Float32
            ? Storage()
            : ops_.memory().make(count * bytesOf(Type::Float32), MemoryCategory::Parameters, "weight, drawn");
    Tensor w{.count = count, .type = type};
    w.storage = ops_.memory().make(w.bytes(), MemoryCategory::Parameters, what);
    return w;
}

Tensor CountedGenerationOps::embeddingWeight(const std::string& /*name*/, std::int64_t rows,
                                             std::int64_t width)
{
    return weight(rows * width, type_, "embedding");
}

Tensor CountedGenerationOps::normWeight(const std::string& /*name*/, std::int64_t width)
{
    return weight(width, isFused_ ? Type::Float32 : type_, "norm");
}

Tensor CountedGenerationOps::linearWeight(const std::string& /*name*/, const LinearMap& map)
{
    if (spec_.weights != WeightFormat::Fp8)
        return weight(map.in * map.out, type_, map.name);
    const auto make = [this](std::int64_t count, const char* what) {
        return ops_.memory().make(count * bytesOf(Type::Float32), MemoryCategory::Parameters, what);
    };
    const std::int64_t count = map.in * map.out;
    const Storage drawn = make(count, "weight, drawn");
    {
        const Storage absolute = make(count, "weight, absolute");
        held_.push_back(make(map.out, "scales"));
    }
    const Storage divided = make(count, "weight, divided");
    Tensor w{.count = count, .type = Type::Float8};
    w.storage = ops_.memory().make(w.bytes(), MemoryCategory::Parameters, map.name);
    return w;
}

Tensor CountedGenerationOps::embedding(const Tensor& weight, const Tensor& tokens)
{
    rowsOfHead_ = 0;
    addends_ = {};
    residual_ = {};
    const Tensor x = ops_.embedding(weight, tokens.count, spec_.dModel);
    return isFused_ ? ops_.to(x, Type::Float32, "residual stream") : x;
}

// A CPU computes the norm of bf16 in fp32.
Tensor CountedGenerationOps::rmsNorm(const Tensor& x, const Tensor& weight)
{
    const std::int64_t rows = x.count / spec_.dModel;
    if (isFused_)
        return fusedNorm(x);
    if (ops_.isCuda() || type_ == Type::Float32)
        return ops_.rmsNorm(x, weight, rows);
    const Tensor wide = ops_.to(x, Type::Float32, "activation, widened");
    const Storage wideWeight = ops_.temporary(weight.count * bytesOf(Type::Float32), "norm, widened");
    return ops_.to(ops_.rmsNorm(wide, weight, rows), type_, "normed, narrowed");
}

// The next norm computes the sum, in one kernel: it reads both addends and writes sum and norm. The sum has no memory
// of its own until then.
Tensor CountedGenerationOps::add(const Tensor& x, const Tensor& y)
{
    if (!isFused_)
        return ops_.add(x, y);
    addends_ = {x, y};
    return {.count = x.count, .type = Type::Float32};
}

void CountedGenerationOps::makeSum(std::int64_t count)
{
    residual_ = ops_.make(count, Type::Float32, "residual stream");
    addends_ = {};
}

Tensor CountedGenerationOps::fusedNorm(const Tensor& x)
{
    Tensor y = ops_.make(x.count, type_, "normed");
    const Storage reciprocals =
        ops_.temporary(x.count / spec_.dModel * bytesOf(Type::Float32), "reciprocal root mean squares");
    ops_.moves(x.bytes() * (addends_[1] ? 2 : 1) + addends_[1].bytes() + y.bytes());
    if (addends_[1])
        makeSum(x.count);
    return y;
}

Tensor CountedGenerationOps::swiGlu(const Tensor& gateUp)
{
    if (!isFused_)
        return ops_.swiGlu(gateUp);
    const Tensor y = ops_.make(gateUp.count / 2, gateUp.type, "gated");
    ops_.moves(gateUp.bytes() + y.bytes());
    return y;
}

Tensor CountedGenerationOps::mm(const Tensor& x, const Tensor& weight)
{
    if (rowsOfHead_ > 0)
        residual_ = {};
    const std::int64_t rows = rowsOfHead_ > 0 ? rowsOfHead_ : spec_.batch * tokens_;
    const std::int64_t count = rows * (weight.count / (x.count / rows));
    if (rows == 1 && ops_.isCuda() && !isFused_ && spec_.weights != WeightFormat::Fp8 && !workspaceOfRow_)
        workspaceOfRow_ = ops_.memory().make(kWorkspaceOfRow, MemoryCategory::Workspace,
                                             "workspace of products with a vector");
    if (weight.type != Type::Float8)
        return ops_.mm(x, weight, count);
    if (isFused_ && ops_.isCuda() && rows <= kMostRowsInFp8) { // one kernel reads E4M3
        Tensor product = ops_.make(count, type_, "product");
        ops_.moves(weight.bytes() + x.bytes() + product.bytes());
        return product;
    }
    const Tensor wide = ops_.to(weight, type_, "weight, widened");
    const Tensor product = ops_.mm(x, wide, count);
    // Times the scales, in fp32: a CPU converts the operand and the result.
    ops_.moves(2 * product.bytes());
    if (!ops_.isCuda()) {
        const Storage operand = ops_.temporary(product.count * bytesOf(Type::Float32), "product, widened");
        ops_.temporary(product.count * bytesOf(Type::Float32), "product, scaled");
    }
    return product;
}

Tensor CountedGenerationOps::addmm(const Tensor& x, const Tensor& a, const Tensor& b)
{
    if (b.type != Type::Float8)
        return ops_.addmm(x, a, b);
    Tensor product = mm(a, b);
    ops_.moves(3 * product.bytes());
    return product;
}

// In fp32, cast back.
Tensor CountedGenerationOps::rotated(const Tensor& packed, std::int64_t heads)
{
    const std::int64_t count = spec_.batch * heads * tokens_ * headDim_;
    Tensor out = ops_.make(count, Type::Float32, "heads, rotated");
    ops_.moves(2 * out.bytes());
    if (packed.type == out.type)
        return out;
    ops_.temporary(out.bytes(), "heads, widened");
    ops_.moves(2 * out.bytes());
    return ops_.to(out, packed.type, "heads, rotated");
}

Tensors CountedGenerationOps::splitHeads(const Tensor& qkv)
{
    if (isFused_) { // in place
        const std::int64_t ofKeys = spec_.batch * spec_.kvHeads * tokens_ * headDim_;
        Tensors views{qkv, qkv, qkv};
        views[0].count = qkv.count - 2 * ofKeys;
        views[1].count = views[2].count = ofKeys;
        ops_.moves(2 * (views[0].bytes() + views[1].bytes()));
        return views;
    }
    Tensors heads{rotated(qkv, spec_.heads), rotated(qkv, spec_.kvHeads)};
    const std::int64_t values = spec_.batch * spec_.kvHeads * tokens_ * headDim_;
    if (spec_.batch == 1 && tokens_ == 1) { // in order already
        heads[2] = qkv;
        heads[2].count = values;
        return heads;
    }
    heads[2] = ops_.make(values, qkv.type, "values by head");
    ops_.moves(2 * heads[2].bytes());
    return heads;
}

void CountedGenerationOps::writeCache(const Tensor& k, const Tensor& v)
{
    const bool reorders = spec_.cache == CacheKind::Paged && spec_.batch > 1 && tokens_ > 1;
    for (const Tensor* x : {&k, &v}) {
        if (reorders) {
            ops_.moves(2 * x->bytes());
            const Storage ordered = ops_.temporary(x->bytes(), "keys or values by slot");
        }
        ops_.moves(2 * x->bytes());
    }
}

// Contiguous: views. Paged: copies of whole pages, and for naive of the heads in order.
Tensors CountedGenerationOps::readCache(std::int64_t length)
{
    const std::int64_t rows = spec_.batch * spec_.kvHeads * headDim_;
    Tensors read;
    // The decode kernel reads the pages themselves.
    const bool inPlace =
        spec_.cache != CacheKind::Paged || (isFused_ && device_.isCuda && type_ == Type::BFloat16);
    if (inPlace) {
        for (std::size_t i = 0; i < 2; ++i)
            read[i] = {.count = rows * length, .type = type_};
        return read;
    }
    const std::int64_t pages = (length + spec_.page - 1) / spec_.page;
    const bool copiesTable = spec_.batch > 1 && pages < pagesOfSequence(spec_);
    const Storage table =
        copiesTable ? ops_.temporary(spec_.batch * pages * bytesOf(Type::Int32), "pages") : Storage();
    for (std::size_t i = 0; i < 2; ++i) {
        read[i] = ops_.make(rows * pages * spec_.page, type_, "keys or values, gathered");
        ops_.moves(2 * read[i].bytes());
    }
    return read;
}

Tensor CountedGenerationOps::decoded(const Tensor& q, std::int64_t length)
{
    Tensors read = readCache(length);
    const bool copies =
        groupsHeads_ && spec_.cache == CacheKind::Paged && spec_.batch > 1 && spec_.kvHeads > 1;
    Tensors ordered = read;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t count = spec_.batch * spec_.kvHeads * headDim_ * length;
        if (copies) {
            ordered[i] = ops_.make(count, type_, "keys or values by head");
            ops_.moves(2 * ordered[i].bytes());
        }
        ordered[i].count = count;
    }
    if (length == cachedTokens(spec_))
        return decode_->apply(q, ordered[0], ordered[1]);
    const auto attention = makeAttention(spec_.backend, callOf(spec_, type_, length), device_, ops_);
    return attention->apply(q, ordered[0], ordered[1]);
}

Tensor CountedGenerationOps::attention(const Tensors& qkv)
{
    if (!(isFused_ && ops_.isCuda() && first_ > 0)) // otherwise written where it is rotated
        writeCache(qkv[1], qkv[2]);
    return first_ == 0 ? prefill_->apply(qkv[0], qkv[1], qkv[2]) : decoded(qkv[0], first_ + tokens_);
}

Tensor CountedGenerationOps::mergeHeads(const Tensor& o)
{
    Tensor merged = o;
    if (spec_.heads > 1 && tokens_ > 1 && !o.isTransposed) {
        merged = ops_.make(o.count, o.type, "heads, merged");
        ops_.moves(2 * o.bytes());
    }
    merged.isTransposed = false;
    return merged;
}

Tensor CountedGenerationOps::rowsOfHead(const Tensor& x)
{
    rowsOfHead_ = spec_.batch;
    if (tokens_ == 1)
        return x;
    if (addends_[1]) {
        ops_.moves(2 * x.bytes() + addends_[1].bytes());
        makeSum(x.count);
    }
    Tensor rows = x;
    if (spec_.batch > 1) {
        rows = ops_.make(spec_.batch * spec_.dModel, x.type, "last row of each sequence");
        ops_.moves(2 * rows.bytes());
    }
    rows.count = spec_.batch * spec_.dModel;
    return rows;
}

} // namespace tilescope::predict
