#include "core/trace/counters/counter_api.h"

#include "core/base/plural.h"

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace tilescope::trace {

namespace {

/// Parameters of a CUPTI profiler call, all zero but their size.
template <class Parameters> Parameters sized(std::size_t size)
{
    Parameters parameters{};
    parameters.structSize = size;
    return parameters;
}

std::string refusal(CUptiResult result, std::string_view what)
{
    switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "the driver lets only administrators read hardware counters; set "
               "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root";
    case CUPTI_ERROR_INVALID_METRIC_NAME:
        return "this GPU does not have one of the requested counters";
    default: {
        const char* text = nullptr;
        cuptiGetResultString(result, &text);
        return "CUPTI refused to " + std::string(what) + ": " + (text ? text : "unknown error");
    }
    }
}

/// CUPTI opens its metric library by bare name, which the loader does not find; loading it from CUPTI's
/// folder first helps.
void loadMetrics()
{
    static const bool loaded = [] {
        Dl_info info{};
        if (dladdr(reinterpret_cast<const void*>(&cuptiGetVersion), &info) == 0 || !info.dli_fname)
            return false;
        const auto library = std::filesystem::path(info.dli_fname).parent_path() / "libnvperf_host.so";
        return dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
    }();
    static_cast<void>(loaded); // if it fails, CUPTI reports what is missing
}

/// The context that the session thread's launches go to; null if the driver cannot be asked.
CUcontext currentContext()
{
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return nullptr;
    const auto ask = reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(driver, "cuCtxGetCurrent"));
    CUcontext context = nullptr;
    if (ask && ask(&context) != CUDA_SUCCESS)
        context = nullptr;
    dlclose(driver); // the runtime holds it
    return context;
}

class RealCounters final : public CounterApi {
public:
    std::string open(const std::vector<std::string>& metrics, std::size_t kernels) override;
    std::string beginPass() override;
    std::string endPass(bool& complete) override;
    std::string read(std::vector<std::vector<double>>& kernels) override;
    void close() override;

private:
    std::string openHost();
    std::string openDevice(std::size_t kernels);

    std::vector<std::string> metrics_;
    std::vector<const char*> names_;
    std::vector<std::uint8_t> availability_;
    std::vector<std::uint8_t> config_;
    std::vector<std::uint8_t> data_;
    std::size_t kernels_ = 0;
    bool initialized_ = false;
    CUpti_Profiler_Host_Object* host_ = nullptr;
    CUpti_RangeProfiler_Object* device_ = nullptr;
};

std::string RealCounters::open(const std::vector<std::string>& metrics, std::size_t kernels)
{
    loadMetrics();
    metrics_ = metrics;
    names_.clear();
    for (const std::string& metric : metrics_)
        names_.push_back(metric.c_str());
    kernels_ = kernels;
    auto initialize = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    if (const CUptiResult result = cuptiProfilerInitialize(&initialize); result != CUPTI_SUCCESS)
        return refusal(result, "start its profiler");
    initialized_ = true;
    std::string whyNot = openHost();
    return whyNot.empty() ? openDevice(kernels) : whyNot;
}

std::string RealCounters::openHost()
{
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess)
        return "there is no current GPU";
    chip.deviceIndex = static_cast<std::size_t>(device);
    CUptiResult result = cuptiDeviceGetChipName(&chip);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "name the GPU");
    auto available = sized<CUpti_Profiler_GetCounterAvailability_Params>(
        CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    available.ctx = currentContext();
    for (int turn = 0; turn < 2; ++turn) { // the first call returns the size
        result = cuptiProfilerGetCounterAvailability(&available);
        if (result != CUPTI_SUCCESS)
            return refusal(result, "list the counters");
        availability_.resize(available.counterAvailabilityImageSize);
        available.pCounterAvailabilityImage = availability_.data();
    }
    auto host =
        sized<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    host.pCounterAvailabilityImage = availability_.data();
    result = cuptiProfilerHostInitialize(&host);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "load its metrics");
    host_ = host.pHostObject;

    auto add = sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    add.pHostObject = host_;
    add.ppMetricNames = names_.data();
    add.numMetrics = names_.size();
    result = cuptiProfilerHostConfigAddMetrics(&add);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "accept the requested counters");
    auto size = sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(
        CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = host_;
    result = cuptiProfilerHostGetConfigImageSize(&size);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "plan its passes");
    config_.resize(size.configImageSize);
    auto image = sized<CUpti_Profiler_Host_GetConfigImage_Params>(
        CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    result = cuptiProfilerHostGetConfigImage(&image);
    return result == CUPTI_SUCCESS ? std::string() : refusal(result, "plan its passes");
}

std::string RealCounters::openDevice(std::size_t kernels)
{
    auto enable = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    enable.ctx = currentContext();
    CUptiResult result = cuptiRangeProfilerEnable(&enable);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "open the GPU's counters");
    device_ = enable.pRangeProfilerObject;
    auto size = sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(
        CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pRangeProfilerObject = device_;
    size.pMetricNames = names_.data();
    size.numMetrics = names_.size();
    size.maxNumOfRanges = kernels;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(kernels);
    result = cuptiRangeProfilerGetCounterDataSize(&size);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "report the size of its results");
    data_.assign(size.counterDataSize, 0);
    auto prepare = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    prepare.pRangeProfilerObject = device_;
    prepare.counterDataSize = data_.size();
    prepare.pCounterData = data_.data();
    result = cuptiRangeProfilerCounterDataImageInitialize(&prepare);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "prepare the measurement");
    auto config =
        sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    config.pRangeProfilerObject = device_;
    config.configSize = config_.size();
    config.pConfig = config_.data();
    config.counterDataImageSize = data_.size();
    config.pCounterDataImage = data_.data();
    // Each kernel by itself; the step is run again for each pass: CUPTI's own replay saves and restores all
    // memory around every kernel.
    config.range = CUPTI_AutoRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = kernels;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.targetNestingLevel = 1;
    result = cuptiRangeProfilerSetConfig(&config);
    return result == CUPTI_SUCCESS ? std::string() : refusal(result, "set up the GPU's counters");
}

std::string RealCounters::beginPass()
{
    auto start = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    start.pRangeProfilerObject = device_;
    const CUptiResult result = cuptiRangeProfilerStart(&start);
    return result == CUPTI_SUCCESS ? std::string() : refusal(result, "begin counting");
}

std::string RealCounters::endPass(bool& complete)
{
    auto stop = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    stop.pRangeProfilerObject = device_;
    const CUptiResult result = cuptiRangeProfilerStop(&stop);
    complete = stop.isAllPassSubmitted != 0;
    return result == CUPTI_SUCCESS ? std::string() : refusal(result, "end counting");
}

std::string RealCounters::read(std::vector<std::vector<double>>& kernels)
{
    auto decode =
        sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    decode.pRangeProfilerObject = device_;
    CUptiResult result = cuptiRangeProfilerDecodeData(&decode);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "read the counters");
    if (decode.numOfRangeDropped > 0) {
        return "counters of " + counted(static_cast<std::int64_t>(decode.numOfRangeDropped), "kernel") +
               " were lost: the step did not launch the same kernels twice";
    }
    auto info = sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    result = cuptiRangeProfilerGetCounterDataInfo(&info);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "report the number of measured kernels");
    for (std::size_t kernel = 0; kernel < info.numTotalRanges; ++kernel) {
        auto evaluate = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
            CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
        std::vector<double>& values = kernels.emplace_back(names_.size());
        evaluate.pHostObject = host_;
        evaluate.pCounterDataImage = data_.data();
        evaluate.counterDataImageSize = data_.size();
        evaluate.rangeIndex = kernel;
        evaluate.ppMetricNames = names_.data();
        evaluate.numMetrics = names_.size();
        evaluate.pMetricValues = values.data();
        result = cuptiProfilerHostEvaluateToGpuValues(&evaluate);
        if (result != CUPTI_SUCCESS)
            return refusal(result, "evaluate the counters");
    }
    return {};
}

void RealCounters::close()
{
    if (device_) {
        auto disable =
            sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
        disable.pRangeProfilerObject = std::exchange(device_, nullptr);
        cuptiRangeProfilerDisable(&disable);
    }
    if (host_) {
        auto end = sized<CUpti_Profiler_Host_Deinitialize_Params>(
            CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
        end.pHostObject = std::exchange(host_, nullptr);
        cuptiProfilerHostDeinitialize(&end);
    }
    if (std::exchange(initialized_, false)) {
        auto end = sized<CUpti_Profiler_DeInitialize_Params>(CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
        cuptiProfilerDeInitialize(&end);
    }
    // CUPTI slows launches while it is loaded, and the next point is timed without it.
    cuptiFinalize();
    data_ = {};
    config_ = {};
}

} // namespace

CounterApi& realCounters()
{
    static RealCounters counters;
    return counters;
}

} // namespace tilescope::trace
