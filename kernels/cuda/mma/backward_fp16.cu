#include "kernels/cuda/mma/backward.cuh"
#include "kernels/cuda/mma/launchers.h"

#include <utility>

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardFp16 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return MmaBackwardLaunchers{&launchMmaBackward<Fp16, kMmaHeadDims[kIndex]>...};
}
(std::make_index_sequence<kMmaHeadDimCount>());

} // namespace tilescope::kernels
