#include "core/engine/parallel/shard.h"

#include <ATen/ATen.h>

namespace tilescope::engine {

at::Tensor flatView(const at::Tensor& tensor)
{
    TORCH_CHECK(tensor.defined() && tensor.is_non_overlapping_and_dense(),
                "a tensor to divide must be dense");
    return tensor.as_strided({tensor.numel()}, {1});
}

at::Tensor padded(const at::Tensor& flat, const ShardLayout& layout)
{
    return layout.isEven() ? flat : at::constant_pad_nd(flat, {0, layout.padded() - layout.elements});
}

at::Tensor partOf(const at::Tensor& padded, const ShardLayout& layout, int rank)
{
    return padded.narrow(0, rank * layout.part(), layout.part());
}

} // namespace tilescope::engine
