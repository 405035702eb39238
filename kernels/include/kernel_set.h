#pragma once

namespace tilescope::kernels {

/// Whether this build has every CUDA attention kernel that the current device can use. Where it has not, a
/// problem may be refused, or run by a kernel that is slower than another.
bool hasAllCudaKernels();

} // namespace tilescope::kernels
