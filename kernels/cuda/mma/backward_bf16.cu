#include "kernels/cuda/mma/backward.cuh"

namespace tilescope::kernels {

const MmaBackwardLaunchers kMmaBackwardBf16 = mmaBackwardLaunchers<Bf16>();

} // namespace tilescope::kernels
