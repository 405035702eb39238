#pragma once

#include "core/base/error.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The functions of CUPTI that sample counters of whole GPUs, for the sources of core/machine alone.

namespace tilescope::machine {

namespace cupti {

// From cupti_result.h, cupti_profiler_host.h and cupti_pmsampling.h of CUDA 12.6. Declared here because `tilescope` is
// built without CUDA. CUPTI reads the members that `size` covers, so that newer libraries accept these structures.
using Result = int;
inline constexpr Result kDone = 0;
inline constexpr Result kInvalidParameter = 1;
inline constexpr Result kOutOfMemory = 8; // of decoding: the hardware's buffer was full
inline constexpr Result kHardwareBusy = 26;
inline constexpr Result kNotSupported = 27;
inline constexpr Result kVirtualDevice = 33;
inline constexpr Result kNoPrivileges = 35;
inline constexpr Result kVirtualNoPrivileges = 40;
inline constexpr Result kConfidential = 41;
inline constexpr Result kMigDevice = 43;
inline constexpr Result kWslDevice = 45;

inline constexpr int kPmSampling = 1;   // CUPTI_PROFILER_TYPE_PM_SAMPLING
inline constexpr int kTimeInterval = 1; // CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL
inline constexpr int kKeepOldest = 0;   // CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST
inline constexpr int kImageIsFull = 1;  // CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
inline constexpr std::size_t kHardwareBuffer = std::size_t{256} << 20; // some 10 KiB a sample

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
template <> inline DecodeParams sized<DecodeParams>()
{
    DecodeParams parameters{};
    parameters.head.size = offsetof(DecodeParams, overflow) + sizeof(parameters.overflow);
    return parameters;
}

} // namespace cupti

/// A CUPTI that is loaded, and its errors as sentences. Threads may use call() and require() at the same time.
class SamplingFunctions {
public:
    explicit SamplingFunctions(const std::filesystem::path& cupti);

    /// Calls a function; kNotSupported if the library lacks it.
    template <class Parameters> cupti::Result call(const char* function, Parameters& parameters) const
    {
        const auto found = reinterpret_cast<cupti::Result (*)(Parameters*)>(dlsym(library_, function));
        return found ? found(&parameters) : cupti::kNotSupported;
    }
    /// \throws Error (Environment)  the result is an error, with its remedy
    void require(cupti::Result result, std::string_view what, std::optional<int> device) const;

    struct Chip {
        std::string name;
        std::vector<std::uint8_t> availability = {};
    };
    /// One thread.
    const Chip& chip(int device);

    void* library() const { return library_; }

private:
    std::string whyNot(cupti::Result result, std::string_view what) const;

    std::filesystem::path path_;
    void* library_ = nullptr;
    std::map<int, Chip> chips_;
};

/// A set of metrics of a chip, on the host. One thread at a time.
class HostMetrics {
public:
    HostMetrics(SamplingFunctions& library, int device);
    ~HostMetrics();
    HostMetrics(const HostMetrics&) = delete;
    HostMetrics& operator=(const HostMetrics&) = delete;

    /// The configuration of the hardware; empty: the chip lacks a metric.
    std::vector<std::uint8_t> configuration(std::span<const std::string> metrics) const;
    void* host() const { return host_; }

private:
    SamplingFunctions& library_;
    int device_;
    void* host_ = nullptr;
};

std::vector<const char*> pointersOf(std::span<const std::string> metrics);

} // namespace tilescope::machine
