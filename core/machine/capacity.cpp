#include "core/machine/capacity.h"

#include "core/machine/nvml_device.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace tilescope::machine {

std::optional<GpuCapacity> gpuCapacity(int index)
{
    const Nvml* nvml = Nvml::instance();
    if (nvml == nullptr)
        return {};
    const Nvml::Device device = deviceOf(*nvml, index);
    if (device == nullptr)
        return {};
    GpuCapacity gpu;
    gpu.name = nvml->name(device).value_or("GPU");
    gpu.uuid = nvml->uuid(device).value_or("");
    if (const auto capability = nvml->computeCapability(device)) {
        gpu.computeMajor = *capability / 10;
        gpu.computeMinor = *capability % 10;
    }
    if (const auto memory = nvml->memory(device))
        gpu.memory = Bytes{static_cast<std::int64_t>(memory->total)};
    return gpu;
}

std::optional<Bytes> hostCapacity()
{
    std::ifstream lines("/proc/meminfo");
    for (std::string key, unit; lines >> key;) {
        std::int64_t kibibytes = 0;
        if (key == "MemAvailable:" && lines >> kibibytes)
            return Bytes{kibibytes * 1024};
        std::getline(lines, unit);
    }
    return {};
}

} // namespace tilescope::machine
