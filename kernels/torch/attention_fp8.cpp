// The torch op tilescope::attention_fp8: attention forward with products in FP8, on Hopper, without gradients.
#include "kernels/torch/attention_op.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

namespace tilescope::kernels {

namespace {

using Output = std::tuple<at::Tensor, at::Tensor>;

Output emptyOutput(const at::Tensor& q)
{
    return {at::empty(q.sizes(), q.options()),
            at::empty(q.sizes().slice(0, q.dim() - 1), q.options().dtype(at::kFloat))};
}

/// A 4-D input whose addresses and strides are multiples of 16 bytes: the tensor itself or a copy.
at::Tensor quantisable(const at::Tensor& tensor)
{
    const at::Tensor rows = withHeads(tensor);
    const std::int64_t unit = kCudaAlignment / rows.element_size();
    bool aligned =
        rows.stride(3) == 1 && reinterpret_cast<std::uintptr_t>(rows.const_data_ptr()) % kCudaAlignment == 0;
    for (int dim = 0; dim < 3; ++dim) {
        aligned = aligned && (rows.size(dim) == 1 || (rows.stride(dim) > 0 && rows.stride(dim) % unit == 0));
    }
    return aligned ? rows : rows.clone(at::MemoryFormat::Contiguous);
}

Output attentionFp8(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                    std::optional<double> scale)
{
    const AttentionOptions options{causal, scale, "ieee"};
    checkAttentionArguments(q, k, v, options);
    AttentionProblem problem = attentionProblem(withHeads(q), withHeads(k), options);
    TORCH_CHECK_VALUE(problem.scale > 0, "tilescope::attention_fp8: the scale is ", problem.scale,
                      "; give a positive one");
    auto [o, logSumExp] = emptyOutput(q);
    if (q.numel() == 0 || k.numel() == 0) {
        return {o.zero_(), logSumExp.fill_(-INFINITY)};
    }
    const at::Tensor queries = quantisable(q);
    const at::Tensor keys = quantisable(k);
    const at::Tensor values = quantisable(v);
    ForwardTensors tensors{.q = constView(queries),
                           .k = constView(keys),
                           .v = constView(values),
                           .o = mutableView(withHeads(o)),
                           .logSumExp = logSumExp.mutable_data_ptr()};
    const c10::cuda::CUDAGuard guard(q.device());
    // Freed on return, but only later work of this stream reuses it, after the kernels.
    const c10::DataPtr workspace =
        c10::cuda::CUDACachingAllocator::get()->allocate(cudaFp8WorkspaceBytes(problem));
    tensors.workspace = workspace.get();
    attentionForwardFp8Cuda(problem, tensors, c10::cuda::getCurrentCUDAStream().stream());
    return {o, logSumExp};
}

Output attentionFp8Meta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                        std::optional<double> scale)
{
    checkAttentionArguments(q, k, v, {causal, scale, "ieee"});
    return emptyOutput(q);
}

} // namespace

TORCH_LIBRARY_FRAGMENT(tilescope, library)
{
    library.def("attention_fp8(Tensor q, Tensor k, Tensor v, bool causal, float? scale=None) "
                "-> (Tensor o, Tensor lse)",
                {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(tilescope, CUDA, library)
{
    library.impl("attention_fp8", &attentionFp8);
}

TORCH_LIBRARY_IMPL(tilescope, Meta, library)
{
    library.impl("attention_fp8", &attentionFp8Meta);
}

} // namespace tilescope::kernels
