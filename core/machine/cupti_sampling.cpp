#include "core/machine/cupti_sampling.h"

#include "core/base/error.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tilescope::machine {

namespace fs = std::filesystem;

namespace {

// From cupti_result.h, cupti_profiler_host.h and cupti_pmsampling.h of CUDA 12.6. Declared here because `tilescope` is
// built without CUDA. CUPTI reads the members that `size` covers, so that newer libraries accept these structures.
using Result = int;
constexpr Result kDone = 0;
constexpr Result kOutOfMemory = 8; // of decoding: the hardware's buffer was full
constexpr Result kHardwareBusy = 26;
constexpr Result kNotSupported = 27;
constexpr Result kVirtualDevice = 33;
constexpr Result kNoPrivileges = 35;
constexpr Result kVirtualNoPrivileges = 40;
constexpr Result kConfidential = 41;
constexpr Result kMigDevice = 43;
constexpr Result kWslDevice = 45;

constexpr int kPmSampling = 1;   // CUPTI_PROFILER_TYPE_PM_SAMPLING
constexpr int kTimeInterval = 1; // CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL
constexpr int kKeepOldest = 0;   // CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST
constexpr int kImageIsFull = 1;  // CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
constexpr std::size_t kHardwareBuffer = std::size_t{256} << 20; // some 10 KiB a sample
// An image holds what is sampled in this time, which is longer than between two readings: a full image loses a sample.
constexpr std::int64_t kTimeOfImageNs = 150'000'000;
constexpr std::int64_t kLeastSamplesOfImage = 128;
constexpr std::int64_t kMostSamplesOfImage = 4096;
constexpr std::uint64_t kSamplesForConstants = 100;

struct Head {
    std::size_t size = 0;
    void* reserved = nullptr;
};
struct InitializeParams {
    Head head;
};
struct ChipNameParams {
    Head head;
    std::size_t device = 0;
    const char* chip = nullptr;
};
struct AvailabilityParams {
    Head head;
    std::size_t device = 0;
    std::size_t imageSize = 0;
    std::uint8_t* image = nullptr;
};
struct HostInitializeParams {
    Head head;
    int profiler = kPmSampling;
    const char* chip = nullptr;
    const std::uint8_t* availability = nullptr;
    void* host = nullptr;
};
struct HostParams {
    Head head;
    void* host = nullptr;
};
struct AddMetricsParams {
    Head head;
    void* host = nullptr;
    const char** metrics = nullptr;
    std::size_t count = 0;
};
struct ConfigSizeParams {
    Head head;
    void* host = nullptr;
    std::size_t size = 0;
};
struct ConfigParams {
    Head head;
    void* host = nullptr;
    std::size_t size = 0;
    std::uint8_t* config = nullptr;
};
struct PassesParams {
    Head head;
    std::size_t size = 0;
    std::uint8_t* config = nullptr;
    std::size_t passes = 0;
};
struct EvaluateParams {
    Head head;
    void* host = nullptr;
    const std::uint8_t* image = nullptr;
    std::size_t imageSize = 0;
    std::size_t range = 0;
    const char** metrics = nullptr;
    std::size_t count = 0;
    double* values = nullptr;
};
struct EnableParams {
    Head head;
    std::size_t device = 0;
    void* sampling = nullptr;
};
struct SamplingParams { // of disable, start and stop
    Head head;
    void* sampling = nullptr;
};
struct SetConfigParams {
    Head head;
    void* sampling = nullptr;
    std::size_t configSize = 0;
    const std::uint8_t* config = nullptr;
    std::size_t bufferSize = kHardwareBuffer;
    std::uint64_t interval = 0;
    int trigger = kTimeInterval;
    int append = kKeepOldest;
};
struct ImageSizeParams {
    Head head;
    void* sampling = nullptr;
    const char** metrics = nullptr;
    std::size_t count = 0;
    std::uint32_t samples = 0;
    std::size_t size = 0;
};
struct ImageParams {
    Head head;
    void* sampling = nullptr;
    std::size_t size = 0;
    std::uint8_t* image = nullptr;
};
struct DecodeParams {
    Head head;
    void* sampling = nullptr;
    std::uint8_t* image = nullptr;
    std::size_t imageSize = 0;
    int stopReason = 0;
    std::uint8_t overflow = 0;
};
struct ImageInfoParams {
    Head head;
    const std::uint8_t* image = nullptr;
    std::size_t imageSize = 0;
    std::size_t total = 0;
    std::size_t populated = 0;
    std::size_t completed = 0;
};
struct SampleInfoParams {
    Head head;
    void* sampling = nullptr;
    const std::uint8_t* image = nullptr;
    std::size_t imageSize = 0;
    std::size_t sample = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

template <class Parameters> Parameters sized()
{
    Parameters parameters{};
    parameters.head.size = sizeof(Parameters);
    return parameters;
}
/// What the header gives for structures whose last member is shorter than their alignment.
template <> DecodeParams sized<DecodeParams>()
{
    DecodeParams parameters{};
    parameters.head.size = offsetof(DecodeParams, overflow) + sizeof(parameters.overflow);
    return parameters;
}

std::vector<const char*> pointersOf(std::span<const std::string> metrics)
{
    std::vector<const char*> pointers;
    for (const std::string& metric : metrics)
        pointers.push_back(metric.c_str());
    return pointers;
}

std::string deviceText(int device)
{
    return "GPU " + std::to_string(device);
}

} // namespace

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

/// A CUPTI that is loaded, and its errors as sentences.
class SamplingFunctions {
public:
    explicit SamplingFunctions(const fs::path& cupti) : path_(cupti)
    {
        // CUPTI opens it by bare name, which the loader does not find.
        dlopen((cupti.parent_path() / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
        library_ = dlopen(cupti.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library_)
            throw Error{.what = "CUPTI cannot be loaded: " + std::string(dlerror()),
                        .where = cupti.string(),
                        .kind = ErrorKind::Environment};
        if (!dlsym(library_, "cuptiPmSamplingEnable"))
            throw Error{.what = "this CUPTI is older than CUDA 12.6, with which sampling of metrics begins",
                        .where = cupti.string(),
                        .remedy = "run the program with libraries of CUDA 12.6 or later",
                        .kind = ErrorKind::Environment};
        auto parameters = sized<InitializeParams>();
        require(call("cuptiProfilerInitialize", parameters), "start its profiler", {});
    }

    /// Calls a function; kNotSupported if the library lacks it.
    template <class Parameters> Result call(const char* function, Parameters& parameters) const
    {
        const auto found = reinterpret_cast<Result (*)(Parameters*)>(dlsym(library_, function));
        return found ? found(&parameters) : kNotSupported;
    }

    void require(Result result, std::string_view what, std::optional<int> device) const
    {
        if (result != kDone)
            throw Error{.what = whyNot(result, what),
                        .where = device ? deviceText(*device) : path_.string(),
                        .remedy = remedyOf(result),
                        .kind = ErrorKind::Environment};
    }

    struct Chip {
        std::string name;
        std::vector<std::uint8_t> availability = {};
    };
    const Chip& chip(int device)
    {
        if (const auto known = chips_.find(device); known != chips_.end())
            return known->second;
        auto name = sized<ChipNameParams>();
        name.device = static_cast<std::size_t>(device);
        require(call("cuptiDeviceGetChipName", name), "name the chip", device);
        Chip chip{.name = name.chip ? name.chip : ""};
        auto asked = sized<AvailabilityParams>();
        asked.device = name.device;
        require(call("cuptiPmSamplingGetCounterAvailability", asked), "list its counters", device);
        chip.availability.resize(asked.imageSize);
        asked.image = chip.availability.data();
        require(call("cuptiPmSamplingGetCounterAvailability", asked), "list its counters", device);
        return chips_.emplace(device, std::move(chip)).first->second;
    }

    void* library() const { return library_; }

private:
    std::string whyNot(Result result, std::string_view what) const
    {
        switch (result) {
        case kNoPrivileges:
        case kVirtualNoPrivileges:
            return "the driver lets only administrators read hardware counters";
        case kHardwareBusy:
            return "another program uses the hardware counters: Nsight Compute, or a recording with "
                   "--metrics or --inside";
        case kVirtualDevice:
            return "the counters of a virtual GPU cannot be sampled";
        case kConfidential:
            return "counters cannot be sampled in confidential computing";
        case kMigDevice:
            return "the counters of a part of a GPU (MIG) cannot be sampled";
        case kWslDevice:
            return "counters cannot be sampled in the Windows Subsystem for Linux";
        default: {
            const auto name =
                reinterpret_cast<Result (*)(Result, const char**)>(dlsym(library_, "cuptiGetResultString"));
            const char* text = nullptr;
            if (name)
                name(result, &text);
            return "CUPTI refused to " + std::string(what) + ": " +
                   (text ? std::string(text) : "error " + std::to_string(result));
        }
        }
    }

    static std::string remedyOf(Result result)
    {
        if (result == kNoPrivileges || result == kVirtualNoPrivileges)
            return "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root";
        if (result == kHardwareBusy)
            return "end it, and record again";
        return {};
    }

    fs::path path_;
    void* library_ = nullptr;
    std::map<int, Chip> chips_;
};

namespace {

/// A set of metrics of a chip, on the host.
class HostMetrics {
public:
    HostMetrics(SamplingFunctions& library, int device) : library_(library), device_(device)
    {
        const auto& chip = library.chip(device);
        auto made = sized<HostInitializeParams>();
        made.chip = chip.name.c_str();
        made.availability = chip.availability.empty() ? nullptr : chip.availability.data();
        library.require(library.call("cuptiProfilerHostInitialize", made), "describe the chip " + chip.name,
                        device);
        host_ = made.host;
    }
    ~HostMetrics()
    {
        auto ended = sized<HostParams>();
        ended.host = host_;
        library_.call("cuptiProfilerHostDeinitialize", ended);
    }
    HostMetrics(const HostMetrics&) = delete;
    HostMetrics& operator=(const HostMetrics&) = delete;

    /// The configuration of the hardware; empty: the chip lacks a metric.
    std::vector<std::uint8_t> configuration(std::span<const std::string> metrics) const
    {
        std::vector<const char*> names = pointersOf(metrics);
        auto added = sized<AddMetricsParams>();
        added.host = host_;
        added.metrics = names.data();
        added.count = names.size();
        // One that the chip lacks, and one that it has but not here, such as NVLink on a single GPU.
        if (library_.call("cuptiProfilerHostConfigAddMetrics", added) != kDone)
            return {};
        auto size = sized<ConfigSizeParams>();
        size.host = host_;
        library_.require(library_.call("cuptiProfilerHostGetConfigImageSize", size), "configure metrics",
                         device_);
        std::vector<std::uint8_t> config(size.size);
        auto made = sized<ConfigParams>();
        made.host = host_;
        made.size = config.size();
        made.config = config.data();
        library_.require(library_.call("cuptiProfilerHostGetConfigImage", made), "configure metrics",
                         device_);
        return config;
    }

    void* host() const { return host_; }

private:
    SamplingFunctions& library_;
    int device_;
    void* host_ = nullptr;
};

class RealSampling final : public DeviceSampling {
public:
    RealSampling(std::shared_ptr<SamplingFunctions> library, int device, std::vector<std::string> metrics,
                 std::size_t constants, Nanoseconds interval)
        : library_(std::move(library)), device_(device), metrics_(std::move(metrics)),
          names_(pointersOf(metrics_)), values_(metrics_.size()), constants_(constants),
          host_(*library_, device), config_(host_.configuration(metrics_))
    {
        auto enabled = sized<EnableParams>();
        enabled.device = static_cast<std::size_t>(device);
        require(library_->call("cuptiPmSamplingEnable", enabled), "sample the counters");
        sampling_ = enabled.sampling;
        try {
            configure(interval);
        } catch (...) {
            disable();
            throw;
        }
    }
    ~RealSampling() override
    {
        stop();
        disable();
    }

    bool read(const Take& take) override
    {
        bool overflow = false;
        for (bool isFull = true; isFull;) {
            auto decoded = sized<DecodeParams>();
            decoded.sampling = sampling_;
            decoded.image = image_.data();
            decoded.imageSize = image_.size();
            const Result result = library_->call("cuptiPmSamplingDecodeData", decoded);
            overflow = overflow || decoded.overflow != 0 || result == kOutOfMemory;
            if (result != kOutOfMemory)
                require(result, "decode samples");
            pass(take);
            isFull = decoded.stopReason == kImageIsFull && seen_ > 0;
            // Each call decodes into an empty image, as NVIDIA's own sample does.
            if (seen_ > 0)
                initializeImage();
        }
        return overflow;
    }

    void stop() override
    {
        if (!std::exchange(runs_, false))
            return;
        auto stopped = sized<SamplingParams>();
        stopped.sampling = sampling_;
        library_->call("cuptiPmSamplingStop", stopped);
    }

private:
    void require(Result result, std::string_view what) const { library_->require(result, what, device_); }

    void configure(Nanoseconds interval)
    {
        auto set = sized<SetConfigParams>();
        set.sampling = sampling_;
        set.configSize = config_.size();
        set.config = config_.data();
        set.interval = static_cast<std::uint64_t>(interval.count());
        require(library_->call("cuptiPmSamplingSetConfig", set), "sample at this interval");
        auto size = sized<ImageSizeParams>();
        size.sampling = sampling_;
        size.metrics = names_.data();
        size.count = names_.size();
        size.samples = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(kTimeOfImageNs / std::max<std::int64_t>(interval.count(), 1),
                                     kLeastSamplesOfImage, kMostSamplesOfImage));
        require(library_->call("cuptiPmSamplingGetCounterDataSize", size), "size its samples");
        image_.resize(size.size);
        initializeImage();
        auto started = sized<SamplingParams>();
        started.sampling = sampling_;
        require(library_->call("cuptiPmSamplingStart", started), "start sampling");
        runs_ = true;
    }

    void disable()
    {
        auto disabled = sized<SamplingParams>();
        disabled.sampling = sampling_;
        library_->call("cuptiPmSamplingDisable", disabled);
    }

    void initializeImage()
    {
        auto made = sized<ImageParams>();
        made.sampling = sampling_;
        made.size = image_.size();
        made.image = image_.data();
        require(library_->call("cuptiPmSamplingCounterDataImageInitialize", made), "keep samples");
        seen_ = 0;
    }

    /// Passes on the samples of the image that are new.
    void pass(const Take& take)
    {
        auto info = sized<ImageInfoParams>();
        info.image = image_.data();
        info.imageSize = image_.size();
        require(library_->call("cuptiPmSamplingGetCounterDataInfo", info), "count samples");
        for (std::size_t i = seen_; i < info.completed; ++i) {
            auto sample = sized<SampleInfoParams>();
            sample.sampling = sampling_;
            sample.image = image_.data();
            sample.imageSize = image_.size();
            sample.sample = i;
            require(library_->call("cuptiPmSamplingCounterDataGetSampleInfo", sample), "read a sample");
            auto evaluated = sized<EvaluateParams>();
            evaluated.host = host_.host();
            evaluated.image = image_.data();
            evaluated.imageSize = image_.size();
            evaluated.range = i;
            evaluated.metrics = names_.data();
            evaluated.count = names_.size() - (evaluated_++ < kSamplesForConstants ? 0 : constants_);
            evaluated.values = values_.data();
            require(library_->call("cuptiProfilerHostEvaluateToGpuValues", evaluated), "evaluate a sample");
            take(static_cast<std::int64_t>(sample.start), static_cast<std::int64_t>(sample.end), values_);
        }
        seen_ = std::max(seen_, info.completed);
    }

    std::shared_ptr<SamplingFunctions> library_;
    int device_;
    std::vector<std::string> metrics_;
    std::vector<const char*> names_;
    std::vector<double> values_;
    std::size_t constants_;
    std::uint64_t evaluated_ = 0; ///< samples
    HostMetrics host_;
    std::vector<std::uint8_t> config_; ///< CUPTI reads it while it decodes
    std::vector<std::uint8_t> image_;  ///< some tens of KiB a sample: a value of each counter of each unit
    std::size_t seen_ = 0;             ///< samples of the image that were passed on
    void* sampling_ = nullptr;
    bool runs_ = false;
};

} // namespace

SamplingLibrary::SamplingLibrary(const fs::path& cupti)
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
    auto asked = sized<PassesParams>();
    asked.size = config.size();
    asked.config = config.data();
    functions_->require(functions_->call("cuptiProfilerHostGetNumOfPasses", asked), "count passes", device);
    return static_cast<std::int64_t>(asked.passes);
}

std::unique_ptr<DeviceSampling> SamplingLibrary::start(int device, std::vector<std::string> metrics,
                                                       std::size_t constants, Nanoseconds interval)
{
    return std::make_unique<RealSampling>(functions_, device, std::move(metrics), constants, interval);
}

std::int64_t SamplingLibrary::now() const
{
    const auto ask =
        reinterpret_cast<Result (*)(std::uint64_t*)>(dlsym(functions_->library(), "cuptiGetTimestamp"));
    std::uint64_t time = 0;
    return ask && ask(&time) == kDone ? static_cast<std::int64_t>(time) : 0;
}

} // namespace tilescope::machine
