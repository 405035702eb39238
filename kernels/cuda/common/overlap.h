#pragma once

#include "kernels/cuda/common/device.h"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/// Kernels that begin while the kernel before them ends (programmatic dependent launch, from compute capability 9.0 on): in
/// a chain of kernels of some microseconds each, as a decode step is, the time between two kernels counts. On other devices
/// they begin in order as ever.
namespace tilescope::kernels {

namespace ptx {

/// Loads 16 bytes that this kernel reads once and no kernel near it writes.
__device__ inline uint4 loadOnce16(const void* from)
{
    uint4 value;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from));
    return value;
}
/// Lets the next kernel of the stream begin, if launchOverlapping() launched it.
__device__ inline void letNextKernelBegin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Waits until the kernels before have ended, and sees their results.
__device__ inline void waitForKernelBefore()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace ptx

/// Launches a kernel that may begin before the previous kernel of the stream has ended. Every thread of it must call
/// ptx::waitForKernelBefore(), or its equal of Hopper's kernels, before it reads or writes what another kernel writes or reads.
template <class... Parameters, class... Arguments>
cudaError_t launchOverlapping(void (*kernel)(Parameters...), dim3 grid, unsigned threads,
                              std::size_t sharedBytes, cudaStream_t stream, const Arguments&... arguments)
{
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = sharedBytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = currentDeviceProperties().computeMajor >= 9 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

} // namespace tilescope::kernels
