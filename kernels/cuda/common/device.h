#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

/// What launchers ask of the current device at every call, asked of CUDA once a device: each answer costs a
/// microsecond there, and a launch should cost little more than that.
namespace tilescope::kernels {

inline constexpr int kMaxDevices = 64;

/// What a thread block has on the devices that have least (compute capability 8.6, 8.9 and 12.0).
inline constexpr int kLeastSharedBytes = 99 * 1024;

/// To compare kernels and to test here what other devices run, TILESCOPE_ATTENTION may be set to `mma` (no
/// Hopper kernels) or `compact` (nor more shared memory than the least of all devices).
enum class KernelChoice : unsigned char { Best, Mma, Compact };
KernelChoice kernelChoice();

struct DeviceFacts {
    int computeMajor = 0;
    int computeMinor = 0;
    int multiprocessors = 0;
    int sharedMemoryBytes = 0; ///< most that a thread block can have, or kernelChoice() allows it
};

/// Number of the calling thread's device; -1 where CUDA has none.
int currentDevice();

/// Of the current device; all 0 where CUDA has none. Any thread.
const DeviceFacts& currentDeviceFacts();

/// Lets a kernel have that much dynamic shared memory, which CUDA wants to be told once a device.
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
