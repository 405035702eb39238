#include "kernels/cuda/mma/forward.cuh"

namespace tilescope::kernels {

const MmaForwardLaunchers kMmaForwardTf32 = mmaForwardLaunchers<Tf32>();

} // namespace tilescope::kernels
