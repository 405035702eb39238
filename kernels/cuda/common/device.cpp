#include "kernels/cuda/common/device.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace tilescope::kernels {

namespace {

DeviceFacts ask(int device)
{
    DeviceFacts facts;
    const auto attribute = [device](cudaDeviceAttr which) {
        int value = 0;
        return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
    };
    facts.computeMajor = attribute(cudaDevAttrComputeCapabilityMajor);
    facts.computeMinor = attribute(cudaDevAttrComputeCapabilityMinor);
    facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    facts.sharedMemoryBytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (kernelChoice() == KernelChoice::Compact) {
        facts.sharedMemoryBytes = std::min(facts.sharedMemoryBytes, kLeastSharedBytes);
    }
    return facts;
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

const DeviceFacts& currentDeviceFacts()
{
    static const DeviceFacts none;
    static std::array<DeviceFacts, kMaxDevices> facts;
    static std::array<std::once_flag, kMaxDevices> asked;
    const int device = currentDevice();
    if (device < 0 || device >= kMaxDevices) {
        return none;
    }
    std::call_once(asked[device], [device] { facts[device] = ask(device); });
    return facts[device];
}

} // namespace tilescope::kernels
