#include "kernels/cuda/mma/forward.cuh"

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardFp16 = mmaForwardLaunchers<Fp16>();

} // namespace tilescope::kernels
