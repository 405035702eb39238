#include "kernels/cuda/mma/forward.cuh"
#include "kernels/cuda/mma/launchers.h"

#include <utility>

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardBf16 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return MmaForwardLaunchers{&launchMmaForward<Bf16, kMmaHeadDims[kIndex]>...};
}
(std::make_index_sequence<kMmaHeadDimCount>());

} // namespace tilescope::kernels
