#include "kernels/cuda/mma/forward.cuh"

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardFp32 = mmaForwardLaunchers<Fp32>();

} // namespace tilescope::kernels
