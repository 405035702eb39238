#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

/// Properties of the current device that launchers need at each call. They are cached, because CUDA takes a
/// microsecond for each, and a launch takes little more.
namespace tilescope::kernels {

inline constexpr int kMaxDevices = 64;

/// Shared memory of a thread block on the devices with the least (compute capability 8.6, 8.9 and 12.0).
inline constexpr int kMinSharedBytes = 99 * 1024;

/// For comparisons and tests of other devices' kernels, the environment variable TILESCOPE_ATTENTION may be
/// `mma` (no Hopper kernels) or `compact` (also no more than kMinSharedBytes of shared memory).
enum class KernelChoice : unsigned char { Best, Mma, Compact };
KernelChoice kernelChoice();

struct DeviceProperties {
    int computeMajor = 0;
    int computeMinor = 0;
    int multiprocessors = 0;
    int sharedMemoryBytes = 0; ///< maximum of a thread block, or what kernelChoice() allows
};

/// Number of the calling thread's device; -1 if there is none.
int currentDevice();

/// Properties of the current device; all 0 if there is none. Any thread may call it.
const DeviceProperties& currentDeviceProperties();

/// Allows a kernel this much dynamic shared memory. Calls CUDA once per kernel and device.
template <auto kKernel> cudaError_t allowSharedMemory(int bytes)
{
    static std::array<std::atomic<bool>, kMaxDevices> done{};
    const int device = currentDevice();
    const bool known = device >= 0 && device < kMaxDevices;
    if (known && done[device].load(std::memory_order_relaxed)) {
        return cudaSuccess;
    }
    const cudaError_t status =
        cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (known && status == cudaSuccess) {
        done[device].store(true, std::memory_order_relaxed);
    }
    return status;
}

} // namespace tilescope::kernels
