#include "kernels/cuda/mma/forward.cuh"

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardBf16 = mmaForwardLaunchers<Bf16>();

} // namespace tilescope::kernels
