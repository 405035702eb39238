#include "core/predict/ops.h"

#include "core/predict/onednn_matmul.h"

#include <algorithm>
#include <cmath>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kKiB = 1024;

// at::cuda::getChosenWorkspaceSize: larger on Hopper and Blackwell.
std::int64_t cublasWorkspace(const TargetDevice& device)
{
    if (!device.isCuda)
        return 0;
    const bool isRecent = device.computeMajor == 9 || device.computeMajor == 10;
    return isRecent ? 32 * kKiB * kKiB : 4096 * 2 * kKiB + 16 * 8 * kKiB;
}

/// Of a product of matrices: (rows, inner) by (inner, columns).
struct Sizes {
    std::int64_t rows, columns, inner;
};

/// Derived from the element counts of the factors and of the results of `batch` products.
Sizes sizesOf(const Tensor& a, const Tensor& b, std::int64_t count, std::int64_t batch)
{
    const std::int64_t ofFirst = a.count / batch;
    const std::int64_t ofSecond = b.count / batch;
    const std::int64_t ofResult = count / batch;
    const double square =
        static_cast<double>(ofFirst) * static_cast<double>(ofSecond) / static_cast<double>(ofResult);
    const auto inner = std::max<std::int64_t>(1, std::llround(std::sqrt(square)));
    return {ofFirst / inner, ofSecond / inner, inner};
}

} // namespace

Ops::Ops(Memory& memory, const TargetDevice& device)
    : memory_(memory), isCuda_(device.isCuda), workspaceBytes_(cublasWorkspace(device)), device_(device)
{
}

Ops::Autocast::Autocast(Ops& ops, std::optional<Type> type)
    : ops_(ops), before_(ops.autocast_), copiesBefore_(std::move(ops.copies_))
{
    ops.autocast_ = type;
    ops.copies_.clear();
}

Ops::Autocast::~Autocast()
{
    ops_.autocast_ = before_;
    ops_.copies_ = std::move(copiesBefore_);
}

Tensor Ops::make(std::int64_t count, Type type, const char* what)
{
    return {.storage = memory_.make(count * bytesOf(type), MemoryCategory::Temporaries, what),
            .count = count,
            .type = type};
}

Storage Ops::temporary(std::int64_t bytes, const char* what)
{
    return memory_.make(bytes, MemoryCategory::Temporaries, what);
}

std::int64_t Ops::scratchOf(Type type, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                            std::int64_t inner, bool isFirstTransposed) const
{
    return productScratch({.type = type,
                           .batch = batch,
                           .rows = rows,
                           .columns = columns,
                           .inner = inner,
                           .isFirstTransposed = isFirstTransposed},
                          device_);
}

void Ops::usesScratch(Type type, const Tensor& a, const Tensor& b, std::int64_t count)
{
    const Sizes size = sizesOf(a, b, count, 1);
    usesScratch(scratchOf(type, 1, size.rows, size.columns, size.inner));
}

void Ops::record(Tensor& output, std::initializer_list<const Tensor*> inputs,
                 std::initializer_list<const Tensor*> saved, Graph::Backward backward)
{
    if (graph_ == nullptr)
        return;
    std::array<Origin, kArity> origins{};
    std::ranges::transform(inputs, origins.begin(), [](const Tensor* input) { return input->origin; });
    if (std::ranges::none_of(origins, &Origin::needsGradient))
        return;
    output.origin = graph_->record({origins[0], origins[1], origins[2]}, saved, std::move(backward));
}

void Ops::useWorkspace()
{
    Storage& workspace = workspaces_[inBackward_ ? 1 : 0];
    if (workspaceBytes_ != 0 && !workspace)
        workspace = memory_.make(workspaceBytes_, MemoryCategory::Workspace, "cuBLAS workspace");
}

void Ops::setBackward(bool isBackward)
{
    inBackward_ = isBackward;
    if (log_ != nullptr)
        log_->setBackward(isBackward);
}

// Derives m, n and k from the element counts m k, k n and m n of each batch entry.
void Ops::multiplies(const Tensor& a, const Tensor& b, std::int64_t count, std::int64_t batch)
{
    if (log_ == nullptr)
        return;
    const auto each = [batch](std::int64_t values) {
        return static_cast<double>(values) / static_cast<double>(batch);
    };
    const double inner = std::sqrt(each(a.count) * each(b.count) / each(count));
    log_->product(a.type, isTf32_, batch, each(a.count) / inner, each(b.count) / inner, inner);
}

Tensor Ops::to(const Tensor& x, Type type, const char* what)
{
    if (x.type == type)
        return x;
    Tensor result = make(x.count, type, what);
    result.isTransposed = x.isTransposed;
    moves(x.bytes() + result.bytes());
    record(result, {&x}, {}, [this, back = x.type](const Tensors& g) -> Tensors {
        Tensor cast = make(g[0].count, back, "gradient, cast back");
        moves(g[0].bytes() + cast.bytes());
        cast.isTransposed = g[0].isTransposed;
        return {cast};
    });
    return result;
}

// Autocast caches the cast of a parameter, but not of an activation.
Tensor Ops::lowered(const Tensor& x, const char* what)
{
    if (!autocast_ || x.type != Type::Float32)
        return x;
    if (x.origin.leaf == Origin::kNowhere)
        return to(x, *autocast_, what);
    const auto found = copies_.find(x.origin.leaf);
    if (found != copies_.end())
        return found->second;
    return copies_.emplace(x.origin.leaf, to(x, *autocast_, "weight, cast")).first->second;
}

Tensor Ops::embedding(const Tensor& weight, std::int64_t tokens, std::int64_t width)
{
    Tensor x = make(tokens * width, weight.type, "embedding");
    moves(2 * x.bytes());
    record(x, {&weight}, {}, [this, count = weight.count](const Tensors& g) -> Tensors {
        Tensor gradient = make(count, Type::Float32, "gradient of the embedding");
        moves(gradient.bytes());
        moves(3 * g[0].bytes());
        return {gradient};
    });
    return x;
}

Tensor Ops::rmsNorm(const Tensor& x, const Tensor& weight, std::int64_t rows)
{
    if (!isCuda_)
        return rmsNormOfParts(x, weight, rows);
    Tensor y = make(x.count, x.type, "normed");
    const Tensor reciprocal = make(rows, Type::Float32, "reciprocal root mean squares");
    moves(2 * x.bytes());
    record(y, {&x, &weight}, {&x, &reciprocal}, [this, x, reciprocal, width = weight.count](const Tensors&) {
        // Gradients of input and weight; then the former is added to that of the residual stream.
        moves(3 * x.bytes());
        moves(2 * x.bytes());
        moves(3 * x.bytes());
        Tensors result;
        result[0] = make(x.count, x.type, "gradient of a norm's input");
        result[1] = make(width, Type::Float32, "gradient of a norm's weight");
        return result;
    });
    return y;
}

// a b, with the gradients a^T g and g b^T.
Tensor Ops::mm(const Tensor& a, const Tensor& b, std::int64_t count)
{
    if (splitsProducts_)
        return splitMm(a, b, count);
    // Arguments are evaluated right to left, so the weight is cast first.
    const Tensor second = lowered(b, "activation, cast");
    const Tensor first = lowered(a, "activation, cast");
    useWorkspace();
    Tensor product = make(count, first.type, "product");
    multiplies(first, second, count, 1);
    const Sizes size = sizesOf(first, second, count, 1);
    usesScratch(scratchOf(first.type, 1, size.rows, size.columns, size.inner));
    record(product, {&first, &second}, {&first, &second}, [this, first, second, size](const Tensors& g) {
        const auto gradientOf = [&](bool ofWeight, const char* what) {
            const Tensor& factor = ofWeight ? second : first;
            multiplies(g[0], ofWeight ? first : second, factor.count, 1);
            if (g[0].isExpanded)
                moves(g[0].bytes());
            Tensor result = make(factor.count, factor.type, what);
            // cuBLAS does not support an expanded value as a matrix.
            const Storage filled =
                g[0].isExpanded ? temporary(g[0].bytes(), "gradient written out") : Storage();
            // g^T a, because weights are stored as (columns, inner); or g b
            if (ofWeight)
                usesScratch(scratchOf(factor.type, 1, size.columns, size.inner, size.rows, !g[0].isExpanded));
            else
                usesScratch(scratchOf(factor.type, 1, size.rows, size.inner, size.columns));
            return result;
        };
        useWorkspace();
        Tensors result;
        result[1] = gradientOf(true, "gradient of a weight");
        result[0] = gradientOf(false, "gradient of a product's input");
        return result;
    });
    return product;
}

Tensor Ops::splitMm(const Tensor& a, const Tensor& b, std::int64_t count)
{
    Tensor product = splitProduct(a, b, count, "product");
    record(product, {&a, &b}, {&a, &b}, [this, a, b](const Tensors& g) {
        Tensor gradient = g[0];
        if (g[0].isExpanded) {
            gradient = make(g[0].count, g[0].type, "gradient written out");
            moves(gradient.bytes());
        }
        Tensors result;
        result[1] = splitProduct(gradient, a, b.count, "gradient of a weight");
        result[0] = splitProduct(gradient, b, a.count, "gradient of a product's input");
        return result;
    });
    return product;
}

// As splitMmInto() of core/engine/lm/split_product.cpp, with its choice of copies.
Tensor Ops::splitProduct(const Tensor& a, const Tensor& b, std::int64_t count, const char* what)
{
    Tensor product = make(count, Type::Float32, what);
    splitProductInto(a, b, count);
    return product;
}

void Ops::splitProductInto(const Tensor& a, const Tensor& b, std::int64_t count)
{
    const std::int64_t copies = 16 * count > 6 * (a.count + b.count) ? 6 : 3;
    const Storage left = bf16Parts(a, copies);
    const Storage right = bf16Parts(b, copies);
    useWorkspace();
    multipliesParts(a, b, count);
}

void Ops::keptProductInto(const Tensor& a, const Tensor& weight, std::int64_t count, int products)
{
    constexpr std::int64_t kParts = 3;
    const std::int64_t again = 8 * (products - 1) * count; // bytes of the result that are moved once more
    if (again > 6 * a.count + 16 * weight.count)
        return splitProductInto(a, weight, count);
    const Storage left = bf16Parts(a, kParts);
    const Storage right =
        isCuda_ ? Storage()
                : temporary(kParts * weight.count * bytesOf(Type::Float32), "parts of a weight, widened");
    useWorkspace();
    multipliesParts(a, weight, count);
    moves(again);
}

void Ops::multipliesParts(const Tensor& a, const Tensor& b, std::int64_t count)
{
    constexpr int kProducts = 6;
    if (log_ == nullptr)
        return;
    const double inner =
        std::sqrt(static_cast<double>(a.count) * static_cast<double>(b.count) / static_cast<double>(count));
    log_->product(Type::BFloat16, false, 1, static_cast<double>(a.count) / inner,
                  static_cast<double>(b.count) / inner, kProducts * inner);
}

// The processor multiplies them in fp32.
Storage Ops::bf16Parts(const Tensor& x, std::int64_t copies)
{
    const std::int64_t bytes = copies * x.count * bytesOf(Type::BFloat16);
    Storage parts = temporary(bytes, "bf16 parts of a factor");
    moves(x.bytes() + bytes);
    if (!isCuda_)
        parts = temporary(2 * bytes, "parts of a factor, widened");
    return parts;
}

Tensor Ops::addmm(const Tensor& x, const Tensor& a, const Tensor& b)
{
    useWorkspace();
    Tensor sum = make(x.count, x.type, "residual stream");
    multiplies(a, b, x.count, 1);
    usesScratch(a.type, a, b, x.count);
    record(sum, {&x, &a, &b}, {&a, &b}, [this, a, b](const Tensors& g) {
        useWorkspace();
        multiplies(g[0], b, a.count, 1);
        multiplies(g[0], a, b.count, 1);
        Tensors result;
        result[1] = make(a.count, a.type, "gradient of a product's input");
        result[2] = make(b.count, b.type, "gradient of a weight");
        result[0] = g[0];
        return result;
    });
    return sum;
}

Tensor Ops::add(const Tensor& x, const Tensor& y)
{
    // CPU kernels require equal types.
    const Storage wide = !isCuda_ && y.type != x.type ? temporary(x.bytes(), "addend, widened") : Storage();
    Tensor sum = make(x.count, x.type, "residual stream");
    moves(2 * x.bytes() + y.bytes());
    record(sum, {&x, &y}, {}, [this, type = y.type](const Tensors& g) {
        Tensors result;
        if (g[0].type != type)
            moves(g[0].bytes() + g[0].count * bytesOf(type));
        result[1] = g[0].type == type ? g[0] : make(g[0].count, type, "gradient, cast");
        result[0] = g[0];
        return result;
    });
    return sum;
}

Tensor Ops::bmm(const Tensor& a, const Tensor& b, std::int64_t count, Factors factors)
{
    const Tensor second = lowered(b, "attention weights, cast");
    const Tensor first = lowered(a, "attention weights, cast");
    useWorkspace();
    Tensor product = make(count, first.type, "product of heads");
    multiplies(first, second, count, factors.batch);
    const Sizes size = sizesOf(first, second, count, factors.batch);
    {
        const Storage factor = factors.isScaled ? number(sizeof(float)) : Storage();
        usesScratch(scratchOf(first.type, factors.batch, size.rows, size.columns, size.inner));
    }
    views(1);
    record(product, {&first, &second}, {&first, &second},
           [this, first, second, factors, size](const Tensors& g) {
               useWorkspace();
               views(2); // transposed factors
               const auto gradientOf = [&](bool ofFirst) {
                   const Tensor& factor = ofFirst ? first : second;
                   multiplies(g[0], ofFirst ? second : first, factor.count, factors.batch);
                   if (factors.isScaled)
                       moves(2 * factor.bytes());
                   Tensor result = make(factor.count, factor.type, "gradient of heads");
                   // g b^T or a^T g
                   if (ofFirst)
                       usesScratch(
                           scratchOf(factor.type, factors.batch, size.rows, size.inner, size.columns));
                   else
                       usesScratch(
                           scratchOf(factor.type, factors.batch, size.inner, size.columns, size.rows, true));
                   return factors.isScaled ? timesNumber(result, "gradient of heads, scaled") : result;
               };
               Tensors result;
               // The order of the derivatives of bmm and of baddbmm. Only their coexistence matters.
               result[factors.isScaled ? 0 : 1] = gradientOf(factors.isScaled);
               result[factors.isScaled ? 1 : 0] = gradientOf(!factors.isScaled);
               // The gradient of k^T is computed in transposed layout.
               result[1].isTransposed = factors.isSecondTransposed;
               return result;
           });
    return product;
}

Tensor Ops::softmax(const Tensor& x, std::int64_t rows)
{
    // Autocast uses fp32 for softmax on a GPU, but not on a CPU. One kernel reads fp16 and writes fp32; there
    // is none for bf16.
    const bool widens = isCuda_ && autocast_;
    const bool isFused = x.type == Type::Float16;
    const Tensor wide = widens && !isFused ? to(x, Type::Float32, "scores, cast") : x;
    Tensor y = make(x.count, widens ? Type::Float32 : x.type, "attention weights");
    if (wide.type == y.type)
        rowPasses(y, 2, rows);
    else
        moves(wide.bytes() + y.bytes());
    record(y, {&wide}, {&y}, [this, y, rows, type = wide.type](const Tensors& g) {
        rowPasses(g[0], 3, rows);
        if (isCuda_)
            passes(g[0], 3);
        Tensors result;
        result[0] = make(y.count, type, "gradient of scores");
        if (isCuda_)
            temporary(g[0].bytes(), "softmax's gradient times its output");
        return result;
    });
    return y;
}

Tensor Ops::maskedFill(const Tensor& x)
{
    Tensor y = make(x.count, x.type, "output with blank rows");
    moves(2 * x.bytes());
    record(y, {&x}, {}, [this](const Tensors& g) -> Tensors {
        return {make(g[0].count, g[0].type, "gradient with blank rows")};
    });
    return y;
}

Tensor Ops::swiGlu(const Tensor& packed)
{
    const std::int64_t half = packed.count / 2;
    const Tensor activated = make(half, packed.type, "silu of the gate");
    moves(packed.bytes());
    moves(packed.bytes() * 3 / 2);
    if (graph_ == nullptr)
        return activated; // the product overwrites it
    Tensor y = make(half, packed.type, "gated");
    record(y, {&packed}, {&packed, &activated}, [this, packed, activated](const Tensors&) -> Tensors {
        for (int kernel = 0; kernel < 3; ++kernel)
            moves(packed.bytes() * 3 / 2);
        return {make(packed.count, packed.type, "gradient of gate and up")};
    });
    return y;
}

Tensor Ops::logSoftmax(const Tensor& logits)
{
    // Autocast computes the whole loss in fp32 on a CPU, but only what follows on a GPU.
    const Tensor x = autocast_ && !isCuda_ ? to(logits, Type::Float32, "logits, cast") : logits;
    Tensor y = make(x.count, x.type, "log-probabilities");
    record(y, {&x}, {&y},
           [this, y](const Tensors&) -> Tensors { return {make(y.count, y.type, "gradient of logits")}; });
    return y;
}

Tensor Ops::negativeLogLikelihood(const Tensor& x)
{
    const Tensor wide = autocast_ ? to(x, Type::Float32, "log-probabilities, cast") : x;
    Tensor loss = make(1, Type::Float32, "loss");
    const Tensor weight = make(1, Type::Float32, "total weight");
    moves(0);
    record(loss, {&wide}, {&wide, &weight}, [this, wide, weight](const Tensors&) -> Tensors {
        moves(wide.bytes());
        moves(0);
        return {make(wide.count, wide.type, "gradient of log-probabilities")};
    });
    return loss;
}

// Under autocast, a GPU computes the sum in fp32, a CPU in the type of x.
Tensor Ops::sum(const Tensor& x)
{
    Tensor loss = make(1, isCuda_ ? Type::Float32 : x.type, "loss");
    moves(x.bytes());
    record(loss, {&x}, {}, [this, type = x.type, count = x.count](const Tensors& g) -> Tensors {
        Tensor all = g[0]; // one expanded value
        if (!isCuda_ && type != g[0].type)
            all = make(1, type, "gradient, cast");
        all.count = count;
        all.isExpanded = true;
        if (isCuda_ && type != Type::Float32) {
            all = make(count, type, "gradient, cast");
            moves(all.bytes());
        }
        return {all};
    });
    return loss;
}

// On a CPU the norm consists of x^2, its mean, the reciprocal root and two products, each with a node.
Tensor Ops::rmsNormOfParts(const Tensor& x, const Tensor& weight, std::int64_t rows)
{
    const Tensor reciprocal = reciprocalRoots(x, rows);
    moves(2 * x.bytes());
    moves(2 * x.bytes());
    Tensor normed = make(x.count, x.type, "normed, not weighted");
    record(normed, {&x, &reciprocal}, {&x, &reciprocal}, [this, x, reciprocal](const Tensors&) {
        for (int kernel = 0; kernel < 6; ++kernel)
            moves(2 * x.bytes());
        Tensors result;
        result[0] = make(x.count, x.type, "gradient of a norm's input");
        const Storage products = temporary(x.bytes(), "gradient times input");
        result[1] = make(reciprocal.count, x.type, "gradient of the reciprocals");
        return result;
    });
    Tensor y = make(x.count, x.type, "normed");
    record(y, {&normed, &weight}, {&normed, &weight}, [this, normed, weight](const Tensors&) {
        for (int kernel = 0; kernel < 3; ++kernel)
            moves(3 * normed.bytes());
        Tensors result;
        result[0] = make(normed.count, normed.type, "gradient of the normed");
        const Storage products = temporary(normed.bytes(), "gradient times normed");
        result[1] = make(weight.count, weight.type, "gradient of a norm's weight");
        return result;
    });
    return y;
}

Tensor Ops::reciprocalRoots(const Tensor& x, std::int64_t rows)
{
    Tensor squares = make(x.count, x.type, "squares");
    moves(2 * x.bytes());
    moves(x.bytes());
    record(squares, {&x}, {&x}, [this, x](const Tensors&) -> Tensors {
        const Storage power = temporary(x.bytes(), "first power of the values");
        const Storage twice = withNumber(x.bytes(), "twice the values");
        return {make(x.count, x.type, "gradient of a norm's input")};
    });
    Tensor mean = make(rows, x.type, "mean squares");
    withNumber(0, "a number");
    withNumber(0, "a number");
    record(mean, {&squares}, {}, [this, x](const Tensors&) -> Tensors {
        Tensor all{.count = x.count, .type = x.type};
        all.storage = withNumber(x.bytes(), "gradient of squares");
        return {all};
    });
    Tensor reciprocal = make(rows, x.type, "reciprocal root mean squares");
    record(reciprocal, {&mean}, {&reciprocal}, [this, reciprocal](const Tensors&) -> Tensors {
        const Storage cube = temporary(reciprocal.bytes(), "cubes");
        const Storage half = withNumber(reciprocal.bytes(), "half the gradient");
        return {make(reciprocal.count, reciprocal.type, "gradient of mean squares")};
    });
    return reciprocal;
}

// A CPU turns a scalar operand into a tensor: first double, then the type of the other operand.
Storage Ops::withNumber(std::int64_t bytes, const char* what)
{
    const Storage wide = number(sizeof(double));
    const Storage cast = number(sizeof(float));
    return temporary(bytes, what);
}

Storage Ops::number(std::int64_t bytes)
{
    return isCuda_ ? Storage() : temporary(bytes, "a number");
}

Tensor Ops::timesNumber(const Tensor& x, const char* what)
{
    const Storage wide = number(sizeof(double));
    const Storage cast = number(bytesOf(x.type));
    return make(x.count, x.type, what);
}

Storage Ops::maskOfNumbers(std::int64_t count, Type type)
{
    const Storage zero = number(bytesOf(type));
    const Storage hidden = number(bytesOf(type));
    return temporary(count * bytesOf(type), "mask, as numbers");
}

} // namespace tilescope::predict
