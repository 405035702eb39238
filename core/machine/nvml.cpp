#include "core/machine/nvml.h"

#include <dlfcn.h>

#include <array>
#include <string_view>
#include <utility>

namespace tilescope::machine {

namespace {

// From nvml.h. Declared here because the driver installs the library but not its header.
constexpr int kSuccess = 0;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kVersionsMismatch = 18;
constexpr std::size_t kTextSize = 96;

struct RawMemory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

struct RawProcess {
    unsigned pid = 0;
    unsigned long long usedGpuMemory = 0;
    unsigned gpuInstanceId = 0;
    unsigned computeInstanceId = 0;
};

constexpr unsigned kMostLinks = 18;
constexpr std::uint64_t kMega = 1'000'000;

struct RawField {
    unsigned field = 0;
    unsigned scope = 0;
    long long timestamp = 0;
    long long latency = 0;
    unsigned type = 0;
    int status = -1;
    unsigned long long value = 0; // a union; on little-endian hosts also right for a type of four bytes
};
constexpr unsigned kWholeDevice = ~0U; // scope of NVLink's counters: all links

// Types of the values that have eight bytes: unsigned long, unsigned long long, signed long long.
bool isWide(unsigned type)
{
    constexpr unsigned kUnsignedLong = 2;
    constexpr unsigned kSignedLongLong = 4;
    return type >= kUnsignedLong && type <= kSignedLongLong;
}

struct RawUtilization {
    unsigned gpu = 0;
    unsigned memory = 0;
};

constexpr std::array<std::pair<std::uint64_t, std::string_view>, 9> kReasons{{
    {0x01, "gpu idle"},
    {0x02, "application clocks"},
    {0x04, "power cap"},
    {0x08, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "thermal (software)"},
    {0x40, "thermal (hardware)"},
    {0x80, "power brake"},
    {0x100, "display clocks"},
}};

} // namespace

template <class... Arguments>
std::optional<int> Nvml::statusOf(const char* function, Arguments... arguments) const
{
    using Function = int (*)(Arguments...);
    const auto found = reinterpret_cast<Function>(dlsym(library_, function));
    return found ? std::optional(found(arguments...)) : std::nullopt;
}

template <class... Arguments> bool Nvml::call(const char* function, Arguments... arguments) const
{
    return statusOf(function, arguments...) == kSuccess;
}

struct Nvml::Loaded {
    const Nvml* nvml = nullptr;
    Absence absence = Absence::None;
};

const Nvml::Loaded& Nvml::loaded()
{
    // Never unloaded, because NVML has threads of its own.
    static const Loaded once = []() -> Loaded {
        void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return {nullptr, Absence::NoLibrary};
        auto* nvml = new Nvml(library);
        const std::optional<int> status = nvml->statusOf("nvmlInit_v2");
        if (status == kSuccess)
            return {nvml};
        delete nvml;
        return {nullptr, status == kNoPermission       ? Absence::NoPermission
                         : status == kVersionsMismatch ? Absence::Mismatch
                                                       : Absence::NoAnswer};
    }();
    return once;
}

const Nvml* Nvml::instance()
{
    return loaded().nvml;
}

Nvml::Absence Nvml::absence()
{
    return loaded().absence;
}

std::optional<std::string> Nvml::driverVersion() const
{
    std::array<char, kTextSize> text{};
    if (!call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size())))
        return {};
    return text.data();
}

std::optional<int> Nvml::cudaVersion() const
{
    int version = 0;
    return call("nvmlSystemGetCudaDriverVersion_v2", &version) ? std::optional(version) : std::nullopt;
}

unsigned Nvml::deviceCount() const
{
    unsigned count = 0;
    return call("nvmlDeviceGetCount_v2", &count) ? count : 0;
}

Nvml::Device Nvml::byIndex(unsigned index) const
{
    Device device = nullptr;
    return call("nvmlDeviceGetHandleByIndex_v2", index, &device) ? device : nullptr;
}

Nvml::Device Nvml::byUuid(const std::string& uuid) const
{
    Device device = nullptr;
    return call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device) ? device : nullptr;
}

std::optional<std::string> Nvml::name(Device device) const
{
    std::array<char, kTextSize> text{};
    if (!call("nvmlDeviceGetName", device, text.data(), static_cast<unsigned>(text.size())))
        return {};
    return text.data();
}

std::optional<std::string> Nvml::uuid(Device device) const
{
    std::array<char, kTextSize> text{};
    if (!call("nvmlDeviceGetUUID", device, text.data(), static_cast<unsigned>(text.size())))
        return {};
    return text.data();
}

std::optional<int> Nvml::computeCapability(Device device) const
{
    int major = 0;
    int minor = 0;
    return call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor)
               ? std::optional(10 * major + minor)
               : std::nullopt;
}

std::optional<Nvml::Memory> Nvml::memory(Device device) const
{
    RawMemory raw;
    if (!call("nvmlDeviceGetMemoryInfo", device, &raw))
        return {};
    return Memory{raw.total, raw.free, raw.used};
}

std::optional<unsigned> Nvml::clockMhz(Device device, Clock clock) const
{
    unsigned value = 0;
    return call("nvmlDeviceGetClockInfo", device, static_cast<unsigned>(clock), &value) ? std::optional(value)
                                                                                        : std::nullopt;
}

std::optional<unsigned> Nvml::maxClockMhz(Device device, Clock clock) const
{
    unsigned value = 0;
    return call("nvmlDeviceGetMaxClockInfo", device, static_cast<unsigned>(clock), &value)
               ? std::optional(value)
               : std::nullopt;
}

std::optional<unsigned> Nvml::powerLimitMilliwatt(Device device) const
{
    unsigned value = 0;
    return call("nvmlDeviceGetEnforcedPowerLimit", device, &value) ? std::optional(value) : std::nullopt;
}

std::optional<unsigned> Nvml::powerMilliwatt(Device device) const
{
    unsigned value = 0;
    return call("nvmlDeviceGetPowerUsage", device, &value) ? std::optional(value) : std::nullopt;
}

std::optional<unsigned> Nvml::temperature(Device device) const
{
    constexpr int kGpuSensor = 0;
    unsigned value = 0;
    return call("nvmlDeviceGetTemperature", device, kGpuSensor, &value) ? std::optional(value) : std::nullopt;
}

std::optional<Nvml::Utilization> Nvml::utilization(Device device) const
{
    RawUtilization raw;
    if (!call("nvmlDeviceGetUtilizationRates", device, &raw))
        return {};
    return Utilization{raw.gpu, raw.memory};
}

std::vector<std::optional<Nvml::FieldValue>> Nvml::fields(Device device, std::span<const Field> fields) const
{
    // NVML of driver 580 was seen to write past the end of the array. This padding protects other data.
    constexpr std::size_t kRoom = 64;
    std::vector<RawField> raw(fields.size() + kRoom);
    for (std::size_t i = 0; i < fields.size(); ++i) {
        raw[i].field = static_cast<unsigned>(fields[i]);
        if (fields[i] == Field::NvlinkSentKib || fields[i] == Field::NvlinkReceivedKib)
            raw[i].scope = kWholeDevice;
    }
    std::vector<std::optional<FieldValue>> values(fields.size());
    if (!call("nvmlDeviceGetFieldValues", device, static_cast<int>(fields.size()), raw.data()))
        return values;
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (raw[i].status == kSuccess)
            values[i] = FieldValue{raw[i].value, isWide(raw[i].type)};
    return values;
}

std::optional<unsigned> Nvml::pcieThroughput(Device device, Direction direction) const
{
    unsigned value = 0;
    return call("nvmlDeviceGetPcieThroughput", device, static_cast<unsigned>(direction), &value)
               ? std::optional(value)
               : std::nullopt;
}

std::optional<std::uint64_t> Nvml::throttleReasons(Device device) const
{
    unsigned long long reasons = 0;
    // Renamed in driver 535; most drivers still support the old name.
    if (call("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons) ||
        call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons))
        return reasons;
    return {};
}

std::optional<bool> Nvml::migEnabled(Device device) const
{
    unsigned current = 0;
    unsigned pending = 0;
    return call("nvmlDeviceGetMigMode", device, &current, &pending) ? std::optional(current == 1)
                                                                    : std::nullopt;
}

std::optional<bool> Nvml::persistence(Device device) const
{
    int mode = 0;
    return call("nvmlDeviceGetPersistenceMode", device, &mode) ? std::optional(mode == 1) : std::nullopt;
}

std::optional<std::uint64_t> Nvml::nvlinkBandwidth(Device device) const
{
    unsigned links = 0;
    for (unsigned link = 0; link < kMostLinks; ++link) {
        unsigned isActive = 0;
        if (call("nvmlDeviceGetNvLinkState", device, link, &isActive) && isActive == 1)
            ++links;
    }
    constexpr Field kSpeed[] = {Field::NvlinkSpeedMbps};
    const auto speed = links == 0 ? std::nullopt : fields(device, kSpeed).front();
    if (!speed || speed->value == 0)
        return {};
    return links * speed->value * kMega;
}

std::vector<Nvml::Process> Nvml::computeProcesses(Device device) const
{
    using Function = int (*)(Device, unsigned*, RawProcess*);
    const auto query = reinterpret_cast<Function>(dlsym(library_, "nvmlDeviceGetComputeRunningProcesses_v3"));
    if (!query)
        return {};
    std::vector<RawProcess> raw(64);
    auto count = static_cast<unsigned>(raw.size());
    int status = query(device, &count, raw.data());
    if (status == kInsufficientSize) {
        // The number of processes may change between the two calls.
        raw.resize(count + 16);
        count = static_cast<unsigned>(raw.size());
        status = query(device, &count, raw.data());
    }
    if (status != kSuccess)
        return {};
    std::vector<Process> processes;
    for (unsigned i = 0; i < count; ++i) {
        constexpr auto kUnknown = ~0ULL; // inside containers the driver does not report it
        const auto used = raw[i].usedGpuMemory;
        processes.push_back(
            {raw[i].pid, used == kUnknown ? std::nullopt : std::optional<std::uint64_t>(used)});
    }
    return processes;
}

std::string throttleReasonNames(std::uint64_t reasons)
{
    std::string names;
    for (const auto& [bit, name] : kReasons)
        if ((reasons & bit) != 0)
            names += (names.empty() ? "" : ", ") + std::string(name);
    return names.empty() ? "none" : names;
}

} // namespace tilescope::machine
