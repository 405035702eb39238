#pragma once

namespace tilescope::kernels {

/// Whether this build has every CUDA attention kernel that the current device can use. If not, a problem may
/// be rejected, or computed by a slower kernel.
bool hasAllCudaKernels();

/// Whether this build has the kernel of tilescope::attention_fp8 for the current device.
bool hasFp8AttentionKernel();

} // namespace tilescope::kernels
