#include "kernels/cuda/common/device.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace tilescope::kernels {

namespace {

DeviceProperties ask(int device)
{
    DeviceProperties properties;
    const auto attribute = [device](cudaDeviceAttr which) {
        int value = 0;
        return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
    };
    properties.computeMajor = attribute(cudaDevAttrComputeCapabilityMajor);
    properties.computeMinor = attribute(cudaDevAttrComputeCapabilityMinor);
    properties.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    properties.sharedMemoryBytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (kernelChoice() == KernelChoice::Compact) {
        properties.sharedMemoryBytes = std::min(properties.sharedMemoryBytes, kMinSharedBytes);
    }
    return properties;
}

} // namespace

KernelChoice kernelChoice()
{
    static const KernelChoice choice = [] {
        const char* variable = std::getenv("TILESCOPE_ATTENTION");
        const std::string_view value = variable ? variable : "";
        if (value == "mma") {
            return KernelChoice::Mma;
        }
        return value == "compact" ? KernelChoice::Compact : KernelChoice::Best;
    }();
    return choice;
}

int currentDevice()
{
    int device = -1;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

const DeviceProperties& currentDeviceProperties()
{
    static const DeviceProperties none;
    static std::array<DeviceProperties, kMaxDevices> properties;
    static std::array<std::once_flag, kMaxDevices> asked;
    const int device = currentDevice();
    if (device < 0 || device >= kMaxDevices) {
        return none;
    }
    std::call_once(asked[device], [device] { properties[device] = ask(device); });
    return properties[device];
}

} // namespace tilescope::kernels
