#include "core/trace/cupti/pc_sampling_api.h"

#include <dlfcn.h>

namespace tilescope::trace {

namespace {

// CUDA 12.6: before, CUpti_PCSamplingPCData was shorter, and an array of it is walked by its length.
constexpr std::uint32_t kOldestVersion = 24;

template <class Function> bool findFunction(Function& function, const char* name, void* library)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

} // namespace

std::optional<PcSamplingApi> PcSamplingApi::find(void* library, std::uint32_t version, std::string& reason)
{
    PcSamplingApi api;
    const bool isComplete =
        findFunction(api.enable, "cuptiPCSamplingEnable", library) &&
        findFunction(api.disable, "cuptiPCSamplingDisable", library) &&
        findFunction(api.configure, "cuptiPCSamplingSetConfigurationAttribute", library) &&
        findFunction(api.configuration, "cuptiPCSamplingGetConfigurationAttribute", library) &&
        findFunction(api.getData, "cuptiPCSamplingGetData", library) &&
        findFunction(api.countReasons, "cuptiPCSamplingGetNumStallReasons", library) &&
        findFunction(api.reasons, "cuptiPCSamplingGetStallReasons", library) &&
        findFunction(api.cubinCrc, "cuptiGetCubinCrc", library) &&
        findFunction(api.deviceId, "cuptiGetDeviceId", library) &&
        findFunction(api.resultString, "cuptiGetResultString", library);
    if (isComplete && version >= kOldestVersion)
        return api;
    reason = "kernels were not sampled: the CUPTI of this process (version " + std::to_string(version) +
             ") is older than that of CUDA 12.6; install a newer one (the wheel nvidia-cuda-cupti)";
    return std::nullopt;
}

} // namespace tilescope::trace
