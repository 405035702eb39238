#include "core/machine/cupti_sampling.h"

#include "core/base/error.h"
#include "core/machine/cupti_functions.h"
#include "core/machine/device_sampling.h"

#include <dlfcn.h>

#include <array>
#include <string_view>
#include <utility>

namespace tilescope::machine {

CudaDriver::CudaDriver(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))
{
    if (!library_)
        throw Error{.what = "the driver of NVIDIA's GPUs is not installed here",
                    .where = library,
                    .remedy = "metrics need a GPU",
                    .kind = ErrorKind::Environment};
    const auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(library_, "cuInit"));
    const int result = initialize ? initialize(0) : -1;
    constexpr int kNoDevice = 100;
    if (result != 0)
        throw Error{.what = result == kNoDevice
                                ? "there is no GPU that CUDA can use"
                                : "the driver does not start, error " + std::to_string(result),
                    .where = library,
                    .remedy = "check nvidia-smi and CUDA_VISIBLE_DEVICES",
                    .kind = ErrorKind::Environment};
}

int CudaDriver::devices() const
{
    const auto count = reinterpret_cast<int (*)(int*)>(dlsym(library_, "cuDeviceGetCount"));
    int devices = 0;
    return count && count(&devices) == 0 ? devices : 0;
}

std::string CudaDriver::uuid(int device) const
{
    const auto get = reinterpret_cast<int (*)(int*, int)>(dlsym(library_, "cuDeviceGet"));
    const auto ask = reinterpret_cast<int (*)(unsigned char*, int)>(dlsym(library_, "cuDeviceGetUuid"));
    std::array<unsigned char, 16> bytes{};
    int handle = 0;
    if (!get || !ask || get(&handle, device) != 0 || ask(bytes.data(), handle) != 0)
        return {};
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += kDigits[bytes[i] >> 4];
        text += kDigits[bytes[i] & 15];
    }
    return text;
}

double CudaDriver::memoryPeak(int device) const
{
    constexpr int kMemoryClock = 36; // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, kHz
    constexpr int kBusWidth = 37;    // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, bits
    constexpr double kTransfers = 2; // per cycle: double data rate
    constexpr double kHzPerKhz = 1000;
    constexpr double kBitsPerByte = 8;
    const auto get = reinterpret_cast<int (*)(int*, int)>(dlsym(library_, "cuDeviceGet"));
    const auto ask = reinterpret_cast<int (*)(int*, int, int)>(dlsym(library_, "cuDeviceGetAttribute"));
    int handle = 0;
    int clock = 0;
    int width = 0;
    if (!get || !ask || get(&handle, device) != 0 || ask(&clock, kMemoryClock, handle) != 0 ||
        ask(&width, kBusWidth, handle) != 0)
        return 0;
    return kTransfers * kHzPerKhz * clock * width / kBitsPerByte;
}

SamplingLibrary::SamplingLibrary(const std::filesystem::path& cupti)
    : functions_(std::make_shared<SamplingFunctions>(cupti))
{
}

SamplingLibrary::~SamplingLibrary() = default;

std::int64_t SamplingLibrary::passes(int device, std::span<const std::string> metrics)
{
    const HostMetrics host(*functions_, device);
    std::vector<std::uint8_t> config = host.configuration(metrics);
    if (config.empty())
        return 0;
    auto asked = cupti::sized<cupti::PassesParams>();
    asked.size = config.size();
    asked.config = config.data();
    functions_->require(functions_->call("cuptiProfilerHostGetNumOfPasses", asked), "count passes", device);
    return static_cast<std::int64_t>(asked.passes);
}

std::unique_ptr<DeviceSampling> SamplingLibrary::start(int device, std::vector<std::string> metrics,
                                                       std::size_t constants, Nanoseconds interval)
{
    return sampleDevice(functions_, device, std::move(metrics), constants, interval);
}

std::int64_t SamplingLibrary::now() const
{
    const auto ask = reinterpret_cast<cupti::Result (*)(std::uint64_t*)>(
        dlsym(functions_->library(), "cuptiGetTimestamp"));
    std::uint64_t time = 0;
    return ask && ask(&time) == cupti::kDone ? static_cast<std::int64_t>(time) : 0;
}

} // namespace tilescope::machine
