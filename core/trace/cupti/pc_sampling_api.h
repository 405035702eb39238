#pragma once

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::trace {

/// The functions of CUPTI that sample the program counters of a GPU's warps, by name.
struct PcSamplingApi {
    decltype(&::cuptiPCSamplingEnable) enable = nullptr;
    decltype(&::cuptiPCSamplingDisable) disable = nullptr;
    decltype(&::cuptiPCSamplingSetConfigurationAttribute) configure = nullptr;
    decltype(&::cuptiPCSamplingGetConfigurationAttribute) configuration = nullptr;
    decltype(&::cuptiPCSamplingGetData) getData = nullptr;
    decltype(&::cuptiPCSamplingGetNumStallReasons) countReasons = nullptr;
    decltype(&::cuptiPCSamplingGetStallReasons) reasons = nullptr;
    decltype(&::cuptiGetCubinCrc) cubinCrc = nullptr;
    decltype(&::cuptiGetDeviceId) deviceId = nullptr;
    decltype(&::cuptiGetResultString) resultString = nullptr;

    /// \param library  CUPTI, from dlopen()
    /// \param version  of cuptiGetVersion()
    /// \param reason   receives one sentence if it cannot sample
    static std::optional<PcSamplingApi> find(void* library, std::uint32_t version, std::string& reason);
};

} // namespace tilescope::trace
