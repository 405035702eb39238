#include "kernels/cuda/mma/backward.cuh"

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardFp32 = mmaBackwardLaunchers<Fp32>();

} // namespace tilescope::kernels
