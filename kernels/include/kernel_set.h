#pragma once

namespace tilescope::kernels {

/// Whether this build has every CUDA attention kernel that the current device can use. If not, a problem may
/// be rejected, or computed by a slower kernel.
bool hasAllCudaKernels();

} // namespace tilescope::kernels
