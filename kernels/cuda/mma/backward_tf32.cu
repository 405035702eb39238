#include "kernels/cuda/mma/backward.cuh"
#include "kernels/cuda/mma/launchers.h"

#include <utility>

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardTf32 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return MmaBackwardLaunchers{&launchMmaBackward<Tf32InTiles, kMmaHeadDims[kIndex]>...};
}
(std::make_index_sequence<kMmaHeadDimCount>());

} // namespace tilescope::kernels
