// The torch ops of the language model's training step: schemas, checks and devices. They compute forward and
// backward explicitly and have no autograd formulas.
#include "kernels/include/generation.h"
#include "kernels/include/lm.h"
#include "kernels/torch/attention_op.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

namespace tilescope::kernels {

namespace {

using at::Tensor;

at::ScalarType typeOfSums(at::ScalarType elements)
{
    return elements == at::kDouble ? at::kDouble : at::kFloat;
}

void checkElements(const char* op, at::ScalarType type, bool isCuda)
{
    const bool isKnown = type == at::kBFloat16 || type == at::kFloat || (type == at::kDouble && !isCuda);
    TORCH_CHECK_VALUE(isKnown, "tilescope::", op, " does not support ", type,
                      "; it takes bf16 and fp32, and fp64 on a CPU");
}

/// \param like  whose device the tensor must share
void checkTensor(const char* op, const char* name, const Tensor& tensor, at::IntArrayRef sizes,
                 at::ScalarType type, const Tensor& like)
{
    TORCH_CHECK_VALUE(tensor.sizes() == sizes && tensor.scalar_type() == type &&
                          tensor.device() == like.device() && tensor.is_contiguous(),
                      "tilescope::", op, ": ", name, " is ", tensor.scalar_type(), tensor.sizes(), " on ",
                      tensor.device(), "; it must be ", type, sizes, " on ", like.device(), ", contiguous");
}

void checkWidth(const char* op, std::int64_t width, const Tensor& like, std::int64_t most = 0)
{
    if (!like.is_cuda())
        return;
    TORCH_CHECK_VALUE(width % kLmVector == 0, "tilescope::", op, ": the width ", width,
                      " is not a multiple of ", kLmVector, ", which CUDA needs");
    TORCH_CHECK_VALUE(most == 0 || width <= most, "tilescope::", op, ": the width ", width, " is above ",
                      most, ", the most that CUDA supports");
}

/// Runs work(begin, end) over `count` items on LibTorch's threads.
template <class Work> void forRange(std::int64_t count, const Work& work)
{
    at::parallel_for(0, count, 1, work);
}

/// Calls work(stream) on the device of a CUDA tensor.
template <class Work> void onCuda(const Tensor& tensor, const Work& work)
{
    const c10::cuda::CUDAGuard guard(tensor.device());
    work(c10::cuda::getCurrentCUDAStream().stream());
}

std::tuple<Tensor, Tensor, Tensor> addRmsNorm(const Tensor& x, const std::optional<Tensor>& addend,
                                              const Tensor& weight, double epsilon, at::ScalarType dtype)
{
    constexpr const char* kOp = "add_rms_norm";
    const at::ScalarType sums = typeOfSums(dtype);
    checkElements(kOp, dtype, x.is_cuda());
    TORCH_CHECK_VALUE(x.dim() == 2, "tilescope::add_rms_norm: x has ", x.dim(),
                      " dimensions; give (rows, width)");
    checkTensor(kOp, "x", x, x.sizes(), sums, x);
    checkTensor(kOp, "weight", weight, {x.size(1)}, sums, x);
    checkWidth(kOp, x.size(1), x, kMaxNormWidth);
    if (addend)
        checkTensor(kOp, "addend", *addend, x.sizes(), dtype, x);
    Tensor y = at::empty(x.sizes(), x.options().dtype(dtype));
    Tensor sum = addend ? at::empty_like(x) : at::empty({0}, x.options());
    Tensor reciprocal = at::empty({x.size(0)}, x.options());
    if (x.numel() == 0)
        return {y, sum, reciprocal};
    const AddRmsNorm norm{.rows = x.size(0),
                          .width = x.size(1),
                          .epsilon = epsilon,
                          .x = x.const_data_ptr(),
                          .addend = addend ? addend->const_data_ptr() : nullptr,
                          .weight = weight.const_data_ptr(),
                          .sum = addend ? sum.mutable_data_ptr() : nullptr,
                          .y = y.mutable_data_ptr(),
                          .reciprocalRms = reciprocal.mutable_data_ptr()};
    const ElementType type = elementType(y);
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { addRmsNormCuda(type, norm, stream); });
    else
        forRange(norm.rows, [&](auto begin, auto end) { addRmsNormCpu(type, norm, begin, end); });
    return {y, sum, reciprocal};
}

std::tuple<Tensor, Tensor, Tensor> rmsNormBackward(const Tensor& gradY, const Tensor& x, const Tensor& weight,
                                                   const Tensor& reciprocal,
                                                   const std::optional<Tensor>& gradResidual)
{
    constexpr const char* kOp = "rms_norm_backward";
    constexpr std::int64_t kCpuParts = 16;
    const at::ScalarType sums = typeOfSums(gradY.scalar_type());
    checkElements(kOp, gradY.scalar_type(), x.is_cuda());
    TORCH_CHECK_VALUE(x.dim() == 2, "tilescope::rms_norm_backward: x has ", x.dim(),
                      " dimensions; give (rows, width)");
    checkTensor(kOp, "grad_y", gradY, x.sizes(), gradY.scalar_type(), x);
    checkTensor(kOp, "x", x, x.sizes(), sums, x);
    checkTensor(kOp, "weight", weight, {x.size(1)}, sums, x);
    checkTensor(kOp, "reciprocal_rms", reciprocal, {x.size(0)}, sums, x);
    checkWidth(kOp, x.size(1), x, kMaxNormWidth);
    if (gradResidual)
        checkTensor(kOp, "grad_residual", *gradResidual, x.sizes(), sums, x);
    const c10::OptionalDeviceGuard guard(x.device());
    const std::int64_t parts = x.is_cuda() ? rmsNormParts(x.size(0)) : kCpuParts;
    Tensor gradX = at::empty_like(x);
    Tensor rounded = at::empty_like(gradY);
    Tensor weightParts = at::empty({parts, x.size(1)}, x.options());
    if (x.numel() == 0)
        return {gradX, rounded, weightParts.zero_()};
    const RmsNormBackward norm{.rows = x.size(0),
                               .width = x.size(1),
                               .parts = parts,
                               .gradY = gradY.const_data_ptr(),
                               .x = x.const_data_ptr(),
                               .weight = weight.const_data_ptr(),
                               .reciprocalRms = reciprocal.const_data_ptr(),
                               .gradResidual = gradResidual ? gradResidual->const_data_ptr() : nullptr,
                               .gradX = gradX.mutable_data_ptr(),
                               .gradXRounded = rounded.mutable_data_ptr(),
                               .weightParts = weightParts.mutable_data_ptr()};
    const ElementType type = elementType(gradY);
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { rmsNormBackwardCuda(type, norm, stream); });
    else
        forRange(parts, [&](auto begin, auto end) { rmsNormBackwardCpu(type, norm, begin, end); });
    return {gradX, rounded, weightParts};
}

void sumParts(const Tensor& sum, const Tensor& parts)
{
    constexpr const char* kOp = "sum_parts_";
    TORCH_CHECK_VALUE(parts.dim() == 2, "tilescope::sum_parts_: parts have ", parts.dim(),
                      " dimensions; give (parts, width)");
    checkTensor(kOp, "parts", parts, parts.sizes(), typeOfSums(parts.scalar_type()), parts);
    checkTensor(kOp, "the sum", sum, {parts.size(1)}, parts.scalar_type(), parts);
    checkElements(kOp, parts.scalar_type(), parts.is_cuda());
    const SumParts columns{.parts = parts.size(0),
                           .width = parts.size(1),
                           .x = parts.const_data_ptr(),
                           .sum = sum.mutable_data_ptr()};
    if (columns.width == 0)
        return;
    const ElementType type = elementType(parts);
    if (parts.is_cuda())
        onCuda(parts, [&](CudaStream stream) { sumPartsCuda(columns, stream); });
    else
        forRange(columns.width, [&](auto begin, auto end) { sumPartsCpu(type, columns, begin, end); });
}

void rotateHeads(const Tensor& x, const Tensor& rotation, std::int64_t heads, bool inverse)
{
    constexpr const char* kOp = "rotate_heads_";
    checkElements(kOp, x.scalar_type(), x.is_cuda());
    TORCH_CHECK_VALUE(x.dim() == 2 && rotation.dim() == 3,
                      "tilescope::rotate_heads_: give x as (rows, width) and the rotation as (positions, "
                      "head dim / 2, 2)");
    const std::int64_t headDim = 2 * rotation.size(1);
    checkTensor(kOp, "x", x, x.sizes(), x.scalar_type(), x);
    checkTensor(kOp, "rotation", rotation, {rotation.size(0), rotation.size(1), 2},
                typeOfSums(x.scalar_type()), x);
    TORCH_CHECK_VALUE(heads >= 0 && heads * headDim <= x.size(1), "tilescope::rotate_heads_: ", heads,
                      " heads of ", headDim, " exceed the width ", x.size(1));
    TORCH_CHECK_VALUE(rotation.size(0) > 0 && x.size(0) % rotation.size(0) == 0,
                      "tilescope::rotate_heads_: ", x.size(0), " rows are not whole sequences of ",
                      rotation.size(0), " positions");
    checkWidth(kOp, headDim, x);
    checkWidth(kOp, x.size(1), x);
    if (x.size(0) * heads * headDim == 0)
        return;
    const RotateHeads rotate{.rows = x.size(0),
                             .width = x.size(1),
                             .heads = heads,
                             .headDim = headDim,
                             .positions = rotation.size(0),
                             .rotation = rotation.const_data_ptr(),
                             .x = x.mutable_data_ptr(),
                             .inverse = inverse};
    const ElementType type = elementType(x);
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { rotateHeadsCuda(type, rotate, stream); });
    else
        forRange(rotate.rows, [&](auto begin, auto end) { rotateHeadsCpu(type, rotate, begin, end); });
}

std::int64_t gluWidth(const char* op, const Tensor& x)
{
    checkElements(op, x.scalar_type(), x.is_cuda());
    TORCH_CHECK_VALUE(x.dim() == 2 && x.size(1) % 2 == 0, "tilescope::", op,
                      ": x must be (rows, 2 width), gate and up side by side");
    checkTensor(op, "x", x, x.sizes(), x.scalar_type(), x);
    checkWidth(op, x.size(1) / 2, x);
    return x.size(1) / 2;
}

Tensor swiGlu(const Tensor& x)
{
    const std::int64_t width = gluWidth("swiglu", x);
    Tensor y = at::empty({x.size(0), width}, x.options());
    if (y.numel() == 0)
        return y;
    const SwiGlu glu{.rows = x.size(0), .width = width, .x = x.const_data_ptr(), .y = y.mutable_data_ptr()};
    const ElementType type = elementType(x);
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { swiGluCuda(type, glu, stream); });
    else
        forRange(glu.rows, [&](auto begin, auto end) { swiGluCpu(type, glu, begin, end); });
    return y;
}

void swiGluBackward(const Tensor& gradY, const Tensor& x)
{
    constexpr const char* kOp = "swiglu_backward_";
    const std::int64_t width = gluWidth(kOp, x);
    checkTensor(kOp, "grad_y", gradY, {x.size(0), width}, x.scalar_type(), x);
    if (gradY.numel() == 0)
        return;
    const SwiGluBackward glu{
        .rows = x.size(0), .width = width, .x = x.mutable_data_ptr(), .gradY = gradY.mutable_data_ptr()};
    const ElementType type = elementType(x);
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { swiGluBackwardCuda(type, glu, stream); });
    else
        forRange(glu.rows, [&](auto begin, auto end) { swiGluBackwardCpu(type, glu, begin, end); });
}

/// x weight^T, times scales. One kernel for few rows on a GPU with products of bf16, where it is faster; elsewhere the product of
/// LibTorch. The weight must not be a result of the kernel just before (RowsProduct).
Tensor rowsProduct(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& scales)
{
    constexpr const char* kOp = "rows_product";
    TORCH_CHECK_VALUE(x.dim() == 2 && weight.dim() == 2,
                      "tilescope::rows_product: give x as (rows, in) and the "
                      "weight as (out, in)");
    const bool isFp8 = weight.scalar_type() == at::kFloat8_e4m3fn;
    checkTensor(kOp, "x", x, x.sizes(), x.scalar_type(), x);
    checkTensor(kOp, "weight", weight, {weight.size(0), x.size(1)},
                isFp8 ? at::kFloat8_e4m3fn : x.scalar_type(), x);
    if (scales)
        checkTensor(kOp, "scales", *scales, {weight.size(0)}, at::kFloat, x);
    const auto isAligned = [](const Tensor& tensor) {
        return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kCudaAlignment == 0;
    };
    const bool isSmall = isFp8 ? x.size(0) <= kMostProductRows
                               : x.size(0) <= kMostProductRowsInBf16 &&
                                     weight.numel() * weight.element_size() <= kMostProductBytesInBf16;
    const bool hasKernel = x.is_cuda() && x.scalar_type() == at::kBFloat16 && isSmall &&
                           x.size(1) % kRowsProductVector == 0 && isAligned(x) && isAligned(weight) &&
                           x.numel() > 0 && weight.numel() > 0 && weight.size(0) < (1 << 30) &&
                           x.size(1) < (1 << 30);
    if (!hasKernel) {
        Tensor y = at::mm(x, weight.t().to(x.scalar_type()));
        return scales ? y.mul_(*scales) : y;
    }
    Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    onCuda(x, [&](CudaStream stream) {
        rowsProductCuda({.rows = x.size(0),
                         .in = x.size(1),
                         .out = weight.size(0),
                         .x = x.const_data_ptr(),
                         .weight = weight.const_data_ptr(),
                         .weightIsFp8 = isFp8,
                         .scales = scales ? scales->const_data_ptr<float>() : nullptr,
                         .y = y.mutable_data_ptr()},
                        stream);
    });
    return y;
}

/// \param rows  the rows of keys and values (key heads, rows, d) that the sequences write; none: keys and values are
///              (batch, key heads, d)
void storeHeads(const Tensor& x, const Tensor& rotation, const Tensor& keys, const Tensor& values,
                const std::optional<Tensor>& rows)
{
    constexpr const char* kOp = "store_heads_";
    checkElements(kOp, x.scalar_type(), x.is_cuda());
    TORCH_CHECK_VALUE(
        x.dim() == 2 && rotation.dim() == 2 && keys.dim() == 3 && keys.size(2) == 2 * rotation.size(0),
        "tilescope::store_heads_: x is ", x.sizes(), ", the rotation ", rotation.sizes(), " and keys ",
        keys.sizes(), "; give (batch, width), (head dim / 2, 2) and keys of that head dim");
    const std::int64_t headDim = keys.size(2);
    const std::int64_t keyHeads = keys.size(rows ? 0 : 1);
    const std::int64_t heads = x.size(1) / headDim - 2 * keyHeads;
    checkTensor(kOp, "x", x, {x.size(0), (heads + 2 * keyHeads) * headDim}, x.scalar_type(), x);
    checkTensor(kOp, "the rotation", rotation, {headDim / 2, 2}, typeOfSums(x.scalar_type()), x);
    TORCH_CHECK_VALUE(heads > 0 && keys.sizes() == values.sizes() && keys.strides() == values.strides() &&
                          keys.stride(2) == 1 && keys.scalar_type() == x.scalar_type() &&
                          values.scalar_type() == x.scalar_type() && keys.device() == x.device() &&
                          values.device() == x.device() && (rows || keys.size(0) == x.size(0)),
                      "tilescope::store_heads_: keys are ", keys.scalar_type(), keys.sizes(), " and values ",
                      values.scalar_type(), values.sizes(), " for x of ", x.scalar_type(), x.sizes(),
                      "; give both alike, of x's type, for all sequences");
    if (rows)
        checkTensor(kOp, "rows", *rows, {x.size(0)}, at::kLong, x);
    checkWidth(kOp, headDim, x);
    if (x.size(0) == 0)
        return;
    if (!x.is_cuda()) {
        rotateHeads(x, rotation.unsqueeze(0), heads + keyHeads, false);
        const Tensor byHead = x.view({x.size(0), heads + 2 * keyHeads, headDim});
        const auto write = [&](const Tensor& to, std::int64_t first) {
            const Tensor from = byHead.narrow(1, first, keyHeads);
            rows ? to.index_copy_(1, *rows, from.transpose(0, 1)) : to.copy_(from);
        };
        write(keys, heads);
        write(values, heads + keyHeads);
        return;
    }
    onCuda(x, [&](CudaStream stream) {
        storeHeadsCuda(elementType(x),
                       {.batch = x.size(0),
                        .heads = heads,
                        .keyHeads = keyHeads,
                        .headDim = headDim,
                        .rotation = rotation.const_data_ptr(),
                        .x = x.mutable_data_ptr(),
                        .keys = keys.mutable_data_ptr(),
                        .values = values.mutable_data_ptr(),
                        .batchStride = keys.stride(0),
                        .headStride = rows ? keys.stride(0) : keys.stride(1),
                        .rowStride = keys.stride(1),
                        .rows = rows ? rows->const_data_ptr<std::int64_t>() : nullptr},
                       stream);
    });
}

Tensor crossEntropy(const Tensor& logits, const Tensor& targets, double scale)
{
    constexpr const char* kOp = "cross_entropy_";
    checkElements(kOp, logits.scalar_type(), logits.is_cuda());
    TORCH_CHECK_VALUE(logits.dim() == 2, "tilescope::cross_entropy_: logits have ", logits.dim(),
                      " dimensions; give (rows, vocabulary)");
    checkTensor(kOp, "logits", logits, logits.sizes(), logits.scalar_type(), logits);
    checkTensor(kOp, "targets", targets, {logits.size(0)}, at::kLong, logits);
    Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(typeOfSums(logits.scalar_type())));
    if (logits.numel() == 0)
        return losses.zero_();
    const CrossEntropy loss{.rows = logits.size(0),
                            .vocabulary = logits.size(1),
                            .scale = scale,
                            .targets = targets.const_data_ptr<std::int64_t>(),
                            .logits = logits.mutable_data_ptr(),
                            .losses = losses.mutable_data_ptr()};
    const ElementType type = elementType(logits);
    if (logits.is_cuda())
        onCuda(logits, [&](CudaStream stream) { crossEntropyCuda(type, loss, stream); });
    else
        forRange(loss.rows, [&](auto begin, auto end) { crossEntropyCpu(type, loss, begin, end); });
    return losses;
}

Tensor embeddingBackward(const Tensor& gradient, const Tensor& tokens, std::int64_t vocabulary)
{
    constexpr const char* kOp = "embedding_backward";
    TORCH_CHECK_VALUE(
        gradient.dim() == 2 && vocabulary >= 0,
        "tilescope::embedding_backward: give the gradient as (tokens, width), and the number of words");
    checkTensor(kOp, "grad", gradient, gradient.sizes(), typeOfSums(gradient.scalar_type()), gradient);
    checkTensor(kOp, "tokens", tokens, {gradient.size(0)}, at::kLong, gradient);
    Tensor gradWeight = at::empty({vocabulary, gradient.size(1)}, gradient.options());
    if (gradient.numel() == 0)
        return gradWeight.zero_();
    const EmbeddingBackward embedding{.tokens = gradient.size(0),
                                      .vocabulary = vocabulary,
                                      .width = gradient.size(1),
                                      .token = tokens.const_data_ptr<std::int64_t>(),
                                      .gradient = gradient.const_data_ptr(),
                                      .gradWeight = gradWeight.mutable_data_ptr()};
    if (gradient.is_cuda()) {
        TORCH_CHECK_VALUE(gradient.scalar_type() == at::kFloat,
                          "tilescope::embedding_backward: CUDA has no fp64 kernel; give fp32");
        onCuda(gradient, [&](CudaStream stream) { embeddingBackwardCuda(embedding, stream); });
    } else {
        embeddingBackwardCpu(elementType(gradient), embedding);
    }
    return gradWeight;
}

Tensor splitBf16(const Tensor& x, std::int64_t copies, bool left, bool below)
{
    TORCH_CHECK_VALUE(x.dim() == 2 && x.scalar_type() == at::kFloat && x.is_contiguous(),
                      "tilescope::split_bf16: x is ", x.scalar_type(), x.sizes(),
                      "; it must be fp32 (rows, width), contiguous");
    TORCH_CHECK_VALUE(copies == 3 || copies == 6, "tilescope::split_bf16: copies is ", copies,
                      "; it must be 3 or 6");
    const std::int64_t rows = x.size(0);
    const std::int64_t width = x.size(1);
    Tensor parts = at::empty({below ? copies * rows : rows, below ? width : copies * width},
                             x.options().dtype(at::kBFloat16));
    if (x.numel() == 0)
        return parts;
    const SplitBf16 split{.rows = rows,
                          .width = width,
                          .copies = copies,
                          .left = left,
                          .below = below,
                          .x = x.const_data_ptr<float>(),
                          .parts = parts.mutable_data_ptr()};
    if (x.is_cuda())
        onCuda(x, [&](CudaStream stream) { splitBf16Cuda(split, stream); });
    else
        forRange(rows, [&](auto begin, auto end) { splitBf16Cpu(split, begin, end); });
    return parts;
}

/// The records of checked tensors.
std::vector<AdamwTensor> adamwTensors(at::TensorList weights, at::TensorList remainders,
                                      at::TensorList gradients, at::TensorList firstMoments,
                                      at::TensorList secondMoments)
{
    constexpr const char* kOp = "adamw_";
    const bool isSplit = weights.front().scalar_type() == at::kBFloat16;
    const std::size_t count = weights.size();
    TORCH_CHECK_VALUE(
        gradients.size() == count && firstMoments.size() == count && secondMoments.size() == count &&
            remainders.size() == (isSplit ? count : 0),
        "tilescope::adamw_: give one gradient and two moments per weight, and one remainder per bf16 "
        "weight");
    const at::ScalarType sums = typeOfSums(weights.front().scalar_type());
    std::vector<AdamwTensor> tensors(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Tensor& weight = weights[i];
        const Tensor& first = weights.front();
        checkTensor(kOp, "a weight", weight, weight.sizes(), first.scalar_type(), first);
        checkTensor(kOp, "a gradient", gradients[i], weight.sizes(), sums, first);
        checkTensor(kOp, "a first moment", firstMoments[i], weight.sizes(), sums, first);
        checkTensor(kOp, "a second moment", secondMoments[i], weight.sizes(), sums, first);
        if (isSplit)
            checkTensor(kOp, "a remainder", remainders[i], weight.sizes(), at::kShort, first);
        tensors[i] = {.count = weight.numel(),
                      .weight = weight.mutable_data_ptr(),
                      .remainder = isSplit ? remainders[i].mutable_data_ptr<std::int16_t>() : nullptr,
                      .gradient = gradients[i].const_data_ptr(),
                      .firstMoment = firstMoments[i].mutable_data_ptr(),
                      .secondMoment = secondMoments[i].mutable_data_ptr()};
    }
    return tensors;
}

void adamw(at::TensorList weights, at::TensorList remainders, at::TensorList gradients,
           at::TensorList firstMoments, at::TensorList secondMoments, const Tensor& step, double learningRate,
           double beta1, double beta2, double epsilon, double weightDecay)
{
    constexpr std::int64_t kGrain = 1 << 14;
    if (weights.empty())
        return;
    const Tensor& any = weights.front();
    checkElements("adamw_", any.scalar_type(), any.is_cuda());
    checkTensor("adamw_", "step", step, {}, at::kFloat, any);
    const auto tensors = adamwTensors(weights, remainders, gradients, firstMoments, secondMoments);
    const AdamwOptions options{learningRate, beta1, beta2, epsilon, weightDecay};
    const ElementType type = elementType(any);
    if (any.is_cuda()) {
        onCuda(any, [&](CudaStream stream) {
            adamwCuda(type, tensors, options, step.const_data_ptr<float>(), stream);
        });
        return;
    }
    const double number = step.item<double>();
    for (const AdamwTensor& tensor : tensors)
        at::parallel_for(0, tensor.count, kGrain,
                         [&](auto begin, auto end) { adamwCpu(type, tensor, options, number, begin, end); });
}

/// Whether adamwProductCuda() has a kernel for the device of a tensor.
bool hasProductKernel([[maybe_unused]] const Tensor& tensor)
{
#ifdef TILESCOPE_NO_HOPPER_KERNELS
    return false;
#else
    const auto isAligned = [](std::int64_t width) { return width % kLmVector == 0; };
    return tensor.is_cuda() && at::cuda::getDeviceProperties(tensor.get_device())->major == 9 &&
           isAligned(tensor.size(0)) && isAligned(tensor.size(1));
#endif
}

void adamwProduct(const Tensor& weight, const Tensor& remainder, const Tensor& firstMoment,
                  const Tensor& secondMoment, const Tensor& gradient, const Tensor& x, const Tensor& step,
                  double learningRate, double beta1, double beta2, double epsilon, double weightDecay)
{
    constexpr const char* kOp = "adamw_product_";
    TORCH_CHECK_VALUE(
        weight.dim() == 2 && gradient.dim() == 2 && gradient.size(0) > 0,
        "tilescope::adamw_product_: give a weight of two dimensions, and at least one row of gradients");
    const std::int64_t tokens = gradient.size(0);
    checkTensor(kOp, "weight", weight, weight.sizes(), at::kBFloat16, weight);
    checkTensor(kOp, "remainder", remainder, weight.sizes(), at::kShort, weight);
    checkTensor(kOp, "first_moment", firstMoment, weight.sizes(), at::kFloat, weight);
    checkTensor(kOp, "second_moment", secondMoment, weight.sizes(), at::kFloat, weight);
    checkTensor(kOp, "gradient", gradient, {tokens, weight.size(0)}, at::kBFloat16, weight);
    checkTensor(kOp, "x", x, {tokens, weight.size(1)}, at::kBFloat16, weight);
    checkTensor(kOp, "step", step, {}, at::kFloat, weight);
    if (!hasProductKernel(weight)) {
        const Tensor product = weight.is_cuda() ? at::mm(gradient.t(), x, at::kFloat)
                                                : at::mm(gradient.t().to(at::kFloat), x.to(at::kFloat));
        return adamw({weight}, {remainder}, {product}, {firstMoment}, {secondMoment}, step, learningRate,
                     beta1, beta2, epsilon, weightDecay);
    }
#ifndef TILESCOPE_NO_HOPPER_KERNELS
    const AdamwProduct product{.tokens = tokens,
                               .out = weight.size(0),
                               .in = weight.size(1),
                               .weight = weight.mutable_data_ptr(),
                               .remainder = remainder.mutable_data_ptr<std::int16_t>(),
                               .firstMoment = firstMoment.mutable_data_ptr<float>(),
                               .secondMoment = secondMoment.mutable_data_ptr<float>(),
                               .gradient = gradient.const_data_ptr(),
                               .x = x.const_data_ptr()};
    onCuda(weight, [&](CudaStream stream) {
        adamwProductCuda(product, {learningRate, beta1, beta2, epsilon, weightDecay},
                         step.const_data_ptr<float>(), stream);
    });
#endif
}

void implement(torch::Library& library)
{
    library.impl("add_rms_norm", &addRmsNorm);
    library.impl("rms_norm_backward", &rmsNormBackward);
    library.impl("sum_parts_", &sumParts);
    library.impl("rotate_heads_", &rotateHeads);
    library.impl("swiglu", &swiGlu);
    library.impl("swiglu_backward_", &swiGluBackward);
    library.impl("store_heads_", &storeHeads);
    library.impl("rows_product", &rowsProduct);
    library.impl("cross_entropy_", &crossEntropy);
    library.impl("embedding_backward", &embeddingBackward);
    library.impl("split_bf16", &splitBf16);
    library.impl("adamw_", &adamw);
    library.impl("adamw_product_", &adamwProduct);
}

} // namespace

TORCH_LIBRARY_FRAGMENT(tilescope, library)
{
    library.def("add_rms_norm(Tensor x, Tensor? addend, Tensor weight, float eps, ScalarType dtype) "
                "-> (Tensor y, Tensor sum, Tensor reciprocal_rms)");
    library.def("rms_norm_backward(Tensor grad_y, Tensor x, Tensor weight, Tensor reciprocal_rms, "
                "Tensor? grad_residual) -> (Tensor grad_x, Tensor grad_x_rounded, Tensor grad_weight_parts)");
    library.def("sum_parts_(Tensor(a!) sum, Tensor parts) -> ()");
    library.def("rotate_heads_(Tensor(a!) x, Tensor rotation, int heads, bool inverse) -> ()");
    library.def("swiglu(Tensor x) -> Tensor");
    library.def("swiglu_backward_(Tensor(a!) grad_y, Tensor(b!) x) -> ()");
    library.def("store_heads_(Tensor(a!) x, Tensor rotation, Tensor(b!) keys, Tensor(c!) values, Tensor? "
                "rows) -> ()");
    library.def("rows_product(Tensor x, Tensor weight, Tensor? scales) -> Tensor");
    library.def("cross_entropy_(Tensor(a!) logits, Tensor targets, float scale) -> Tensor losses");
    library.def("embedding_backward(Tensor grad, Tensor tokens, int vocabulary) -> Tensor");
    library.def("split_bf16(Tensor x, int copies, bool left, bool below) -> Tensor");
    library.def("adamw_(Tensor(a!)[] weights, Tensor(b!)[] remainders, Tensor[] gradients, "
                "Tensor(c!)[] first_moments, Tensor(d!)[] second_moments, Tensor step, *, float lr=0.001, "
                "float beta1=0.9, float beta2=0.999, float eps=1e-08, float weight_decay=0.01) -> ()");
    library.def("adamw_product_(Tensor(a!) weight, Tensor(b!) remainder, Tensor(c!) first_moment, "
                "Tensor(d!) second_moment, Tensor gradient, Tensor x, Tensor step, *, float lr=0.001, "
                "float beta1=0.9, float beta2=0.999, float eps=1e-08, float weight_decay=0.01) -> ()");
}

TORCH_LIBRARY_IMPL(tilescope, CPU, library)
{
    implement(library);
}

TORCH_LIBRARY_IMPL(tilescope, CUDA, library)
{
    implement(library);
}

} // namespace tilescope::kernels
