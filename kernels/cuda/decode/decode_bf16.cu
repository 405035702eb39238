#include "kernels/cuda/decode/launch.cuh"

#include <utility>

namespace tilescope::kernels {

const DecodeLaunchers kDecodeBf16 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return DecodeLaunchers{&launchDecode<Bf16, kDecodeHeadDims[kIndex]>...};
}
(std::make_index_sequence<std::size(kDecodeHeadDims)>());

} // namespace tilescope::kernels
