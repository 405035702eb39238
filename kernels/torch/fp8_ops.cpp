// The torch ops of quantisation to E4M3 (kernels/include/fp8.h): schemas, checks and devices. No autograd formulas.
#include "kernels/include/fp8.h"
#include "kernels/torch/attention_op.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include <algorithm>

namespace tilescope::kernels {

namespace {

using at::Tensor;

std::uint8_t* bytesOf(const Tensor& values)
{
    return static_cast<std::uint8_t*>(values.mutable_data_ptr());
}

void checkMatrix(const char* op, const Tensor& x)
{
    TORCH_CHECK_VALUE(x.dim() == 2 && (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kFloat) &&
                          x.is_contiguous(),
                      "tilescope::", op, ": x is ", x.scalar_type(), x.sizes(),
                      "; it must be bf16 or fp32 (rows, width), contiguous");
    TORCH_CHECK_VALUE(!x.is_cuda() || x.size(1) % kFp8Multiple == 0, "tilescope::", op, ": the width ",
                      x.size(1), " is not a multiple of ", kFp8Multiple, ", which CUDA needs");
}

std::tuple<Tensor, Tensor> quantizeRows(const Tensor& x)
{
    checkMatrix("quantize_rows", x);
    TORCH_CHECK_VALUE(!x.is_cuda() || x.size(1) <= kMaxQuantizedRow, "tilescope::quantize_rows: the width ",
                      x.size(1), " is above ", kMaxQuantizedRow, ", the most that CUDA supports");
    Tensor values = at::empty(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn));
    Tensor scales = at::empty({x.size(0), 1}, x.options().dtype(at::kFloat));
    if (x.numel() == 0)
        return {values, scales.fill_(1)};
    const QuantizeRows quantize{.rows = x.size(0),
                                .width = x.size(1),
                                .x = x.const_data_ptr(),
                                .values = bytesOf(values),
                                .scales = scales.mutable_data_ptr<float>()};
    const ElementType type = elementType(x);
    if (x.is_cuda()) {
        const c10::cuda::CUDAGuard guard(x.device());
        quantizeRowsCuda(type, quantize, c10::cuda::getCurrentCUDAStream().stream());
    } else {
        at::parallel_for(0, quantize.rows, 1,
                         [&](auto begin, auto end) { quantizeRowsCpu(type, quantize, begin, end); });
    }
    return {values, scales};
}

void checkTarget(const char* name, const Tensor& tensor, at::IntArrayRef sizes, at::ScalarType type,
                 const Tensor& like)
{
    TORCH_CHECK_VALUE(tensor.sizes() == sizes && tensor.scalar_type() == type &&
                          tensor.device() == like.device() && tensor.is_contiguous(),
                      "tilescope::quantize_matrix_: ", name, " is ", tensor.scalar_type(), tensor.sizes(),
                      " on ", tensor.device(), "; it must be ", type, sizes, " on ", like.device(),
                      ", contiguous");
}

void quantizeMatrix(const Tensor& values, const Tensor& transposed, const Tensor& scales, const Tensor& x)
{
    checkMatrix("quantize_matrix_", x);
    TORCH_CHECK_VALUE(!x.is_cuda() || x.size(0) % kFp8Multiple == 0,
                      "tilescope::quantize_matrix_: ", x.size(0), " rows are not a multiple of ",
                      kFp8Multiple, ", which CUDA needs");
    checkTarget("values", values, x.sizes(), at::kFloat8_e4m3fn, x);
    checkTarget("transposed", transposed, {x.size(1), x.size(0)}, at::kFloat8_e4m3fn, x);
    checkTarget("scales", scales, {std::max(x.size(0), x.size(1))}, at::kFloat, x);
    if (x.numel() == 0)
        return;
    const Tensor largest = at::zeros({1}, scales.options());
    const QuantizeMatrix quantize{.rows = x.size(0),
                                  .width = x.size(1),
                                  .x = x.const_data_ptr(),
                                  .values = bytesOf(values),
                                  .transposed = bytesOf(transposed),
                                  .scales = scales.mutable_data_ptr<float>(),
                                  .largest = largest.mutable_data_ptr<float>()};
    const ElementType type = elementType(x);
    if (x.is_cuda()) {
        const c10::cuda::CUDAGuard guard(x.device());
        quantizeMatrixCuda(type, quantize, c10::cuda::getCurrentCUDAStream().stream());
    } else {
        quantizeMatrixCpu(type, quantize);
    }
}

void implementFp8(torch::Library& library)
{
    library.impl("quantize_rows", &quantizeRows);
    library.impl("quantize_matrix_", &quantizeMatrix);
}

} // namespace

TORCH_LIBRARY_FRAGMENT(tilescope, library)
{
    library.def("quantize_rows(Tensor x) -> (Tensor values, Tensor scales)");
    library.def(
        "quantize_matrix_(Tensor(a!) values, Tensor(b!) transposed, Tensor(c!) scales, Tensor x) -> ()");
}

TORCH_LIBRARY_IMPL(tilescope, CPU, library)
{
    implementFp8(library);
}

TORCH_LIBRARY_IMPL(tilescope, CUDA, library)
{
    implementFp8(library);
}

} // namespace tilescope::kernels
