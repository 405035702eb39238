#include "kernels/cuda/mma/backward.cuh"

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardFp16 = mmaBackwardLaunchers<Fp16>();

} // namespace tilescope::kernels
