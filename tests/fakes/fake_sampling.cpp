// The part of CUPTI that samples counters of whole GPUs, for a chip that measures metrics of a total weight of 8 at once. The variable
// FAKE_SAMPLING, a list separated by commas, changes what it does:
//   privileges, busy, overflow, nonsense
//   slow       evaluating a sample takes 5 ms, and the hardware has room for 2,000 samples
//   beside     samples are lost at the end unless two devices were read at the same time
//   late       enabling a second GPU takes 2 s, and the hardware has room for 1,000 samples
//   unstarted  enabling a second GPU fails after 0.2 s, in which no other one can be read
//   oldest     structures are those of CUDA 12.6
// Times are of the wall clock, as CUPTI's own. With a path in FAKE_DEVICE, sampling is refused while the file PATH.instructions exists,
// and the file PATH.metrics exists while sampling is on.
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct FakeMetric {
    std::string_view name;
    int weight; // above 8: needs several passes by itself
    double value;
};

constexpr FakeMetric kFakeMetrics[] = {
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 1, 60.006},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 9, 0},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", 2, 40},
    {"sm__inst_executed.avg.pct_of_peak_sustained_elapsed", 1, 25},
    {"dram__bytes_read.sum.pct_of_peak_sustained_elapsed", 1, 20},
    {"dram__bytes_write.sum.pct_of_peak_sustained_elapsed", 1, 100.4},
    {"dram__bytes_read.sum.peak_sustained_elapsed.per_second", 0, 4.0e12},
    {"pcie__read_bytes.sum.per_second", 1, 12'345'678'901.0},
    {"pcie__write_bytes.sum.per_second", 2, 1},
    {"gpc__cycles_elapsed.avg.per_second", 1, 1'980'012'345.0},
    {"lts__t_sectors.sum.per_second", 1, 5},
};
constexpr int kMostWeight = 8;
constexpr std::size_t kMostSamples = 100'000;
constexpr std::uint64_t kRoom = 2'000; ///< samples in the hardware, with `slow`

struct Host {
    std::vector<std::string> metrics;
};
struct Config {
    std::size_t weight = 0;
};
struct Sampling {
    std::uint64_t interval = 0;
    std::uint64_t next = 0;  ///< begin of the sample that is not decoded yet
    std::uint64_t until = 0; ///< stopped then; 0: it goes on
    std::size_t most = 0;
    bool isFirst = true;
};
/// The fake's image of samples.
struct Image {
    std::uint64_t interval = 0;
    std::size_t count = 0;
    std::uint64_t starts[kMostSamples] = {};
};

std::atomic<bool> isEnabling = false; ///< with `unstarted`

bool isAsked(std::string_view fault)
{
    const char* const faults = std::getenv("FAKE_SAMPLING");
    return faults && std::string_view(faults).find(fault) != std::string_view::npos;
}

std::string deviceFile(const char* suffix)
{
    const char* path = std::getenv("FAKE_DEVICE");
    return path ? std::string(path) + suffix : std::string();
}

const FakeMetric* metricOf(std::string_view name)
{
    const auto* const found = std::ranges::find(kFakeMetrics, name, &FakeMetric::name);
    return found == std::ranges::end(kFakeMetrics) ? nullptr : found;
}

std::uint64_t wallClock()
{
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Host& hostOf(void* object)
{
    return *static_cast<Host*>(object);
}
Sampling& samplingOf(void* object)
{
    return *static_cast<Sampling*>(object);
}
Image& imageOf(const std::uint8_t* image)
{
    return *reinterpret_cast<Image*>(const_cast<std::uint8_t*>(image));
}

/// Waits for another thread to be here at the same time, for at most a tenth of a second: while a device is started, only
/// the other one is read.
/// \return  whether two threads have been here at the same time
bool meetsAnother(bool waits)
{
    static std::mutex mutex;
    static std::condition_variable changed;
    static int here = 0;
    static bool haveMet = false;
    std::unique_lock lock(mutex);
    if (haveMet || !waits)
        return haveMet;
    haveMet = ++here == 2;
    changed.notify_all();
    changed.wait_for(lock, std::chrono::milliseconds(100), [] { return haveMet; });
    --here;
    return haveMet;
}

/// CUPTI refuses structures of another size.
template <class Params> bool isOf(const Params* params, std::size_t size)
{
    return params->structSize == size && params->pPriv == nullptr;
}

} // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params)
{
    return isOf(params, CUpti_Profiler_Initialize_Params_STRUCT_SIZE) ? CUPTI_SUCCESS
                                                                      : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(std::uint64_t* time)
{
    *time = wallClock();
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params)
{
    if (!isOf(params, CUpti_Device_GetChipName_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->pChipName = "FAKE1";
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params* params)
{
    if (!isOf(params, CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (isAsked("privileges"))
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    if (params->pCounterAvailabilityImage)
        std::memset(params->pCounterAvailabilityImage, 7, params->counterAvailabilityImageSize);
    params->counterAvailabilityImageSize = 16;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params)
{
    if (!isOf(params, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE) ||
        params->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING ||
        std::string_view("FAKE1") != params->pChipName || params->pCounterAvailabilityImage[15] != 7)
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new Host);
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params)
{
    delete &hostOf(params->pHostObject);
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params)
{
    if (!isOf(params, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (std::size_t i = 0; i < params->numMetrics; ++i) {
        if (!metricOf(params->ppMetricNames[i]))
            return CUPTI_ERROR_INVALID_METRIC_NAME;
        hostOf(params->pHostObject).metrics.emplace_back(params->ppMetricNames[i]);
    }
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params)
{
    params->configImageSize = sizeof(Config);
    return isOf(params, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params)
{
    if (!isOf(params, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE) ||
        params->configImageSize != sizeof(Config))
        return CUPTI_ERROR_INVALID_PARAMETER;
    Config config;
    for (const std::string& metric : hostOf(params->pHostObject).metrics)
        config.weight += static_cast<std::size_t>(metricOf(metric)->weight);
    std::memcpy(params->pConfigImage, &config, sizeof(config));
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params)
{
    if (!isOf(params, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    Config config;
    std::memcpy(&config, params->pConfigImage, sizeof(config));
    params->numOfPasses = config.weight == 0 ? 1 : (config.weight + kMostWeight - 1) / kMostWeight;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* params)
{
    if (!isOf(params, CUpti_PmSampling_Enable_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (isAsked("busy"))
        return CUPTI_ERROR_INVALID_OPERATION;
    if (isAsked("late") && params->deviceIndex > 0)
        std::this_thread::sleep_for(std::chrono::seconds(2));
    if (isAsked("unstarted") && params->deviceIndex > 0) {
        isEnabling = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        isEnabling = false;
        return CUPTI_ERROR_HARDWARE_BUSY;
    }
    if (!deviceFile(".instructions").empty()) {
        if (access(deviceFile(".instructions").c_str(), F_OK) == 0)
            return CUPTI_ERROR_HARDWARE_BUSY;
        if (std::FILE* made = std::fopen(deviceFile(".metrics").c_str(), "w"))
            std::fclose(made);
    }
    params->pPmSamplingObject = reinterpret_cast<CUpti_PmSampling_Object*>(new Sampling);
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* params)
{
    if (!deviceFile(".metrics").empty())
        unlink(deviceFile(".metrics").c_str());
    delete &samplingOf(params->pPmSamplingObject);
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* params)
{
    Config config;
    std::memcpy(&config, params->pConfig, sizeof(config));
    const std::size_t size = isAsked("oldest")
                                 ? offsetof(CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode)
                                 : CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE;
    if (!isOf(params, size) || params->configSize != sizeof(config) ||
        params->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL ||
        params->hardwareBufferSize == 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (config.weight > kMostWeight)
        return CUPTI_ERROR_NOT_SUPPORTED;
    samplingOf(params->pPmSamplingObject).interval = params->samplingInterval;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* params)
{
    if (!isOf(params, CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE) || params->maxSamples == 0 ||
        params->maxSamples > kMostSamples)
        return CUPTI_ERROR_INVALID_PARAMETER;
    samplingOf(params->pPmSamplingObject).most = params->maxSamples;
    params->counterDataSize = sizeof(Image);
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params* params)
{
    if (!isOf(params, CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE) ||
        params->counterDataSize != sizeof(Image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    std::memset(params->pCounterData, 0, sizeof(Image));
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* params)
{
    samplingOf(params->pPmSamplingObject).next = wallClock();
    return isOf(params, CUpti_PmSampling_Start_Params_STRUCT_SIZE) ? CUPTI_SUCCESS
                                                                   : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult CUPTIAPI cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* params)
{
    samplingOf(params->pPmSamplingObject).until = wallClock();
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* params)
{
    if (!isOf(params, CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (isEnabling)
        return CUPTI_ERROR_UNKNOWN;
    Sampling& sampling = samplingOf(params->pPmSamplingObject);
    if (isAsked("overflow") && !std::exchange(sampling.isFirst, false)) {
        sampling.next += 3 * sampling.interval; // that many are lost
        params->overflow = 1;
    }
    if (isAsked("beside") && !meetsAnother(sampling.until == 0) && sampling.until != 0)
        params->overflow = 1;
    const std::uint64_t now = sampling.until == 0 ? wallClock() : sampling.until;
    const std::uint64_t room = isAsked("late") ? kRoom / 2 : kRoom;
    if ((isAsked("slow") || isAsked("late")) && sampling.next + room * sampling.interval < now) {
        sampling.next = now - room * sampling.interval;
        params->overflow = 1;
    }
    Image& image = imageOf(params->pCounterDataImage);
    image.interval = sampling.interval;
    while (image.count < sampling.most && sampling.next + sampling.interval <= now) {
        image.starts[image.count++] = sampling.next;
        sampling.next += sampling.interval;
    }
    params->decodeStopReason = image.count == sampling.most
                                   ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                   : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* params)
{
    params->numCompletedSamples = imageOf(params->pCounterDataImage).count;
    return isOf(params, CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params* params)
{
    const Image& image = imageOf(params->pCounterDataImage);
    if (!isOf(params, CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE) ||
        params->sampleIndex >= image.count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->startTimestamp = image.starts[params->sampleIndex];
    params->endTimestamp = params->startTimestamp + image.interval;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params)
{
    if (!isOf(params, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE) ||
        params->rangeIndex >= imageOf(params->pCounterDataImage).count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (isAsked("slow")) {
        const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
        nanosleep(&pause, nullptr);
    }
    for (std::size_t i = 0; i < params->numMetrics; ++i)
        params->pMetricValues[i] = isAsked("nonsense") && params->rangeIndex % 10 == 3 && i == 0
                                       ? 2805
                                       : metricOf(params->ppMetricNames[i])->value;
    return CUPTI_SUCCESS;
}
}
