#include "kernels/cuda/mma/forward.cuh"
#include "kernels/cuda/mma/launchers.h"

#include <utility>

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardTf32 = []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
{
    return MmaForwardLaunchers{&launchMmaForward<Tf32, kMmaHeadDims[kIndex]>...};
}
(std::make_index_sequence<kMmaHeadDimCount>());

} // namespace tilescope::kernels
