// The torch op tilescope::attention_paged: attention of new queries with a cache of keys and values by pages.
#include "kernels/include/generation.h"
#include "kernels/torch/attention_op.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <tuple>

namespace tilescope::kernels {

namespace {

using at::Tensor;

struct PagedArguments {
    const Tensor& q;      ///< (batch, heads, queries, d)
    const Tensor& keys;   ///< (key heads, pages of all sequences, tokens of a page, d)
    const Tensor& values; ///< like keys
    const Tensor& pages;  ///< (batch, pages of a sequence), int32: of the second dimension of keys
    std::int64_t length;  ///< tokens of each sequence
    std::optional<double> scale;
};

void checkPaged(const PagedArguments& call)
{
    const auto& [q, keys, values, pages, length, scale] = call;
    TORCH_CHECK_VALUE(
        q.dim() == 4 && keys.dim() == 4 && values.sizes() == keys.sizes() && keys.is_contiguous() &&
            values.is_contiguous() && keys.scalar_type() == q.scalar_type() &&
            values.scalar_type() == q.scalar_type(),
        "tilescope::attention_paged: q is ", q.scalar_type(), q.sizes(), ", keys are ", keys.scalar_type(),
        keys.sizes(), " and values ", values.scalar_type(), values.sizes(),
        "; give q as (batch, heads, queries, d), and keys and values as (key heads, pages, tokens of a "
        "page, d), contiguous and of q's type");
    TORCH_CHECK_VALUE(keys.size(3) == q.size(3) && keys.size(0) > 0 && q.size(1) % keys.size(0) == 0,
                      "tilescope::attention_paged: q has ", q.size(1), " heads of ", q.size(3),
                      " and the keys have ", keys.size(0), " of ", keys.size(3),
                      "; head dims must be equal, and key heads divide q's");
    TORCH_CHECK_VALUE(pages.dim() == 2 && pages.size(0) == q.size(0) && pages.scalar_type() == at::kInt &&
                          pages.stride(1) == 1 && length > 0 && length <= pages.size(1) * keys.size(2),
                      "tilescope::attention_paged: pages are ", pages.scalar_type(), pages.sizes(), " for ",
                      length, " tokens of ", q.size(0),
                      " sequences; give int32 (batch, pages of a sequence) with a page for "
                      "each token");
    TORCH_CHECK_VALUE(keys.device() == q.device() && values.device() == q.device() &&
                          pages.device() == q.device(),
                      "tilescope::attention_paged: the tensors are on several devices; give all on one");
}

/// Keys or values as (batch, key heads, length, d).
Tensor gathered(const PagedArguments& call, const Tensor& pool)
{
    const std::int64_t page = pool.size(2);
    const std::int64_t count = (call.length + page - 1) / page;
    return pool.index_select(1, call.pages.narrow(1, 0, count).reshape({-1}))
        .view({pool.size(0), call.q.size(0), count * page, pool.size(3)})
        .transpose(0, 1)
        .narrow(2, 0, call.length);
}

Tensor attentionOfGathered(const PagedArguments& call)
{
    static const auto attention =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("tilescope::attention", "")
            .typed<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, bool,
                                              std::optional<double>, c10::string_view, bool)>();
    return std::get<0>(attention.call(call.q, gathered(call, call.keys), gathered(call, call.values), true,
                                      call.scale, "ieee", false));
}

Tensor attentionPagedCpu(const Tensor& q, const Tensor& keys, const Tensor& values, const Tensor& pages,
                         std::int64_t length, std::optional<double> scale)
{
    const PagedArguments call{q, keys, values, pages, length, scale};
    checkPaged(call);
    return attentionOfGathered(call);
}

bool hasAlignedRows(const Tensor& tensor)
{
    const std::int64_t unit = kCudaAlignment / tensor.element_size();
    bool aligned = tensor.stride(3) == 1 && tensor.size(3) % unit == 0 &&
                   reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kCudaAlignment == 0;
    for (int dim = 0; dim < 3; ++dim)
        aligned = aligned && (tensor.size(dim) == 1 || tensor.stride(dim) % unit == 0);
    return aligned;
}

Tensor attentionPagedCuda(const Tensor& q, const Tensor& keys, const Tensor& values, const Tensor& pages,
                          std::int64_t length, std::optional<double> scale)
{
    const PagedArguments call{q, keys, values, pages, length, scale};
    checkPaged(call);
    AttentionProblem problem = attentionProblem(q, keys, {.causal = true, .scale = scale});
    problem.shape.keyHeads = keys.size(0);
    problem.shape.keys = length;
    const c10::cuda::CUDAGuard guard(q.device());
    if (q.numel() == 0 || problem.scale <= 0 || !hasAlignedRows(q) || !hasAlignedRows(keys) ||
        !hasAlignedRows(values) || !cudaAttentionReadsPages(problem))
        return attentionOfGathered(call);
    Tensor o = at::empty(q.sizes(), q.options());
    const Tensor logSumExp = at::empty(q.sizes().slice(0, 3), q.options().dtype(at::kFloat));
    const std::int64_t ofHead = keys.stride(0);
    const std::int64_t ofRow = keys.stride(2);
    ForwardTensors tensors{
        .q = constView(q),
        .k = {.data = keys.const_data_ptr(), .batchStride = 0, .headStride = ofHead, .rowStride = ofRow},
        .v = {.data = values.const_data_ptr(), .batchStride = 0, .headStride = ofHead, .rowStride = ofRow},
        .o = mutableView(o),
        .logSumExp = logSumExp.mutable_data_ptr()};
    c10::DataPtr workspace; // freed on return, but only later work of this stream reuses it, after the kernel
    if (const std::size_t bytes = cudaForwardWorkspaceBytes(problem); bytes > 0) {
        workspace = c10::cuda::CUDACachingAllocator::get()->allocate(bytes);
        tensors.workspace = workspace.get();
    }
    attentionForwardPagedCuda(problem, tensors,
                              {.pages = pages.const_data_ptr<int>(),
                               .sequenceStride = pages.stride(0),
                               .pageTokens = static_cast<int>(keys.size(2))},
                              c10::cuda::getCurrentCUDAStream().stream());
    return o;
}

} // namespace

TORCH_LIBRARY_FRAGMENT(tilescope, library)
{
    library.def("attention_paged(Tensor q, Tensor keys, Tensor values, Tensor pages, int length, float? "
                "scale=None) -> "
                "Tensor");
}

TORCH_LIBRARY_IMPL(tilescope, CPU, library)
{
    library.impl("attention_paged", &attentionPagedCpu);
}

TORCH_LIBRARY_IMPL(tilescope, CUDA, library)
{
    library.impl("attention_paged", &attentionPagedCuda);
}

} // namespace tilescope::kernels
