#pragma once

#include "core/trace/cupti/pc_sampling_api.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::trace {

/// CUPTI's sampling of program counters without a GPU: the test says what is sampled. FAKE_PC_SAMPLING=denied: the driver
/// refuses it; =full: the hardware's buffer is full at the first reading; =busy: another profiler has the device.
/// FAKE_PC_GPUS=2: contexts belong to two GPUs in turn. With a path in
/// FAKE_DEVICE, sampling is refused while the file PATH.metrics exists, and the file PATH.instructions exists while it is on.
/// A reading gets three instructions at most. Any thread.
class FakePcSampling {
public:
    static FakePcSampling& instance();

    /// Samples of an instruction, if sampling is on in the context.
    void sample(CUcontext context, std::uint64_t cubin, const char* symbol, std::uint64_t offset,
                std::string_view reason, std::uint32_t samples, std::uint32_t unissued);
    void destroyContext(CUcontext context);

    bool isOn(CUcontext context);

    CUptiResult enable(CUcontext context);
    CUptiResult disable(CUcontext context);
    CUptiResult configure(const CUpti_PCSamplingConfigurationInfoParams& parameters);
    CUptiResult read(CUcontext context, CUpti_PCSamplingData& data);

    static std::size_t reasonCount();
    static const char* reasonName(std::size_t reason);
    static std::uint32_t reasonIndex(std::size_t reason);

private:
    struct Instruction {
        std::uint64_t cubin;
        std::string symbol;
        std::uint64_t offset;
        auto operator<=>(const Instruction&) const = default;
    };
    struct Context {
        bool isOn = false;
        CUpti_PCSamplingData* last = nullptr; ///< filled when sampling ends
        std::map<Instruction, std::map<std::uint32_t, std::uint32_t>> counts;
    };

    void fill(Context& context, CUpti_PCSamplingData& data, std::size_t most);
    void markDevice();

    std::mutex mutex_;
    std::map<CUcontext, Context> contexts_;
    std::map<std::string, std::pair<std::uint32_t, std::string>>
        symbols_; ///< index and the name that is handed out
    bool wasFull_ = false;
};

/// The fake's functions.
inline PcSamplingApi fakePcSamplingApi()
{
    return {.enable = &cuptiPCSamplingEnable,
            .disable = &cuptiPCSamplingDisable,
            .configure = &cuptiPCSamplingSetConfigurationAttribute,
            .configuration = &cuptiPCSamplingGetConfigurationAttribute,
            .getData = &cuptiPCSamplingGetData,
            .countReasons = &cuptiPCSamplingGetNumStallReasons,
            .reasons = &cuptiPCSamplingGetStallReasons,
            .cubinCrc = &cuptiGetCubinCrc,
            .deviceId = &cuptiGetDeviceId,
            .resultString = &cuptiGetResultString};
}

} // namespace tilescope::trace
