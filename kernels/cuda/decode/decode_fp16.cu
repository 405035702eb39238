#include "kernels/cuda/decode/launch.cuh"

#include <utility>

namespace tilescope::kernels {

const DecodeLaunchers kDecodeFp16 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return DecodeLaunchers{&launchDecode<Fp16, kDecodeHeadDims[kIndex]>...};
}
(std::make_index_sequence<std::size(kDecodeHeadDims)>());

} // namespace tilescope::kernels
