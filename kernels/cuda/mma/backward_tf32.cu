#include "kernels/cuda/mma/backward.cuh"

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardTf32 = mmaBackwardLaunchers<Tf32InTiles>();

} // namespace tilescope::kernels
