#include "kernels/cuda/launchers.h"
#include "kernels/cuda/mma_backward.cuh"

#include <utility>

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardTf32 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return MmaBackwardLaunchers{&launchMmaBackward<Tf32InTiles, kMmaHeadDims[kIndex]>...};
}
(std::make_index_sequence<kMmaHeadDimCount>());

} // namespace tilescope::kernels
