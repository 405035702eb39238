#include "tests/fakes/fake_pc_sampling.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilescope::trace {

namespace {

constexpr std::array kReasons{
    "smsp__pcsamp_warps_issue_stalled_selected", "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", "smsp__pcsamp_warps_issue_stalled_barrier",
    "smsp__pcsamp_warps_issue_stalled_barrier_not_issued"};
constexpr std::uint32_t kFirstIndex = 7; // CUPTI's do not begin with 0 either

bool isAsked(const char* what)
{
    const char* value = std::getenv("FAKE_PC_SAMPLING");
    return value && std::strcmp(value, what) == 0;
}

std::string deviceFile(const char* suffix)
{
    const char* path = std::getenv("FAKE_DEVICE");
    return path ? std::string(path) + suffix : std::string();
}

} // namespace

FakePcSampling& FakePcSampling::instance()
{
    static auto* const sampling = new FakePcSampling;
    return *sampling;
}

std::size_t FakePcSampling::reasonCount()
{
    return kReasons.size();
}

const char* FakePcSampling::reasonName(std::size_t reason)
{
    return kReasons[reason];
}

std::uint32_t FakePcSampling::reasonIndex(std::size_t reason)
{
    return kFirstIndex + static_cast<std::uint32_t>(reason);
}

void FakePcSampling::sample(CUcontext context, std::uint64_t cubin, const char* symbol, std::uint64_t offset,
                            std::string_view reason, std::uint32_t samples, std::uint32_t unissued)
{
    const std::scoped_lock lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end() || !found->second.isOn)
        return;
    auto& counts = found->second.counts[{cubin, symbol, offset}];
    const std::string name = "_stalled_" + std::string(reason);
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
        const std::string_view known = kReasons[i];
        if (known.ends_with(name))
            counts[reasonIndex(i)] += samples;
        else if (known.ends_with(name + "_not_issued") && unissued > 0)
            counts[reasonIndex(i)] += unissued;
    }
}

void FakePcSampling::destroyContext(CUcontext context)
{
    disable(context);
    const std::scoped_lock lock(mutex_);
    contexts_.erase(context);
}

CUptiResult FakePcSampling::enable(CUcontext context)
{
    if (isAsked("denied"))
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    const std::scoped_lock lock(mutex_);
    if (!deviceFile(".metrics").empty() && access(deviceFile(".metrics").c_str(), F_OK) == 0)
        return CUPTI_ERROR_HARDWARE_BUSY;
    contexts_[context].isOn = true;
    markDevice();
    return CUPTI_SUCCESS;
}

bool FakePcSampling::isOn(CUcontext context)
{
    const std::scoped_lock lock(mutex_);
    return contexts_[context].isOn;
}

/// Makes the file exist while sampling is on in a context.
void FakePcSampling::markDevice()
{
    const std::string file = deviceFile(".instructions");
    if (file.empty())
        return;
    const bool isOn = std::ranges::any_of(contexts_, [](const auto& each) { return each.second.isOn; });
    if (!isOn)
        unlink(file.c_str());
    else if (std::FILE* made = std::fopen(file.c_str(), "w"))
        std::fclose(made);
}

CUptiResult FakePcSampling::disable(CUcontext context)
{
    const std::scoped_lock lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end() || !found->second.isOn)
        return CUPTI_ERROR_INVALID_OPERATION;
    found->second.isOn = false;
    markDevice();
    if (found->second.last)
        fill(found->second, *found->second.last, found->second.last->collectNumPcs);
    return CUPTI_SUCCESS;
}

CUptiResult FakePcSampling::configure(const CUpti_PCSamplingConfigurationInfoParams& parameters)
{
    const std::scoped_lock lock(mutex_);
    Context& context = contexts_[parameters.ctx];
    if (!context.isOn)
        return CUPTI_ERROR_INVALID_OPERATION;
    for (std::size_t i = 0; i < parameters.numAttributes; ++i) {
        CUpti_PCSamplingConfigurationInfo& each = parameters.pPCSamplingConfigurationInfo[i];
        if (each.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
            context.last = static_cast<CUpti_PCSamplingData*>(
                each.attributeData.samplingDataBufferData.samplingDataBuffer);
    }
    return CUPTI_SUCCESS;
}

CUptiResult FakePcSampling::read(CUcontext context, CUpti_PCSamplingData& data)
{
    if (isAsked("busy"))
        return CUPTI_ERROR_UNKNOWN;
    const std::scoped_lock lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end() || !found->second.isOn)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (isAsked("full") && !std::exchange(wasFull_, true))
        return CUPTI_ERROR_OUT_OF_MEMORY;
    constexpr std::size_t kMost = 3;
    fill(found->second, data, std::min(kMost, data.collectNumPcs));
    return CUPTI_SUCCESS;
}

void FakePcSampling::fill(Context& context, CUpti_PCSamplingData& data, std::size_t most)
{
    data.totalSamples = data.droppedSamples = data.nonUsrKernelsTotalSamples = 0;
    data.hardwareBufferFull = 0;
    data.totalNumPcs = 0;
    while (data.totalNumPcs < most && !context.counts.empty()) {
        const auto node = context.counts.extract(context.counts.begin());
        auto [symbol, isNew] = symbols_.try_emplace(node.key().symbol);
        if (isNew)
            symbol->second = {static_cast<std::uint32_t>(symbols_.size()), node.key().symbol};
        CUpti_PCSamplingPCData& pc = data.pPcData[data.totalNumPcs++];
        pc.cubinCrc = node.key().cubin;
        pc.pcOffset = node.key().offset;
        pc.functionIndex = symbol->second.first;
        pc.functionName = symbol->second.second.data();
        pc.stallReasonCount = 0;
        for (const auto& [reason, samples] : node.mapped()) {
            pc.stallReason[pc.stallReasonCount++] = {.pcSamplingStallReasonIndex = reason,
                                                     .samples = samples};
            data.totalSamples += samples;
        }
    }
    data.remainingNumPcs = context.counts.size();
}

} // namespace tilescope::trace

using tilescope::trace::FakePcSampling;

extern "C" {

int fakeSamplingIsOn(std::uint64_t context)
{
    return FakePcSampling::instance().isOn(reinterpret_cast<CUcontext>(context)) ? 1 : 0;
}

void fakeSamples(std::uint64_t context, const char* cubin, std::size_t bytes, const char* symbol,
                 std::uint64_t offset, const char* reason, std::uint32_t samples, std::uint32_t unissued)
{
    CUpti_GetCubinCrcParams parameters{};
    parameters.cubin = cubin;
    parameters.cubinSize = bytes;
    cuptiGetCubinCrc(&parameters);
    FakePcSampling::instance().sample(reinterpret_cast<CUcontext>(context), parameters.cubinCrc, symbol,
                                      offset, reason, samples, unissued);
}

CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* parameters)
{
    return FakePcSampling::instance().enable(parameters->ctx);
}
CUptiResult CUPTIAPI cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* parameters)
{
    return FakePcSampling::instance().disable(parameters->ctx);
}
CUptiResult CUPTIAPI
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* parameters)
{
    return FakePcSampling::instance().configure(*parameters);
}
CUptiResult CUPTIAPI
cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* parameters)
{
    constexpr std::uint32_t kPeriod = 11;
    parameters->pPCSamplingConfigurationInfo->attributeData.samplingPeriodData.samplingPeriod = kPeriod;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* parameters)
{
    return FakePcSampling::instance().read(parameters->ctx,
                                           *static_cast<CUpti_PCSamplingData*>(parameters->pcSamplingData));
}
CUptiResult CUPTIAPI cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* parameters)
{
    *parameters->numStallReasons = FakePcSampling::reasonCount();
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* parameters)
{
    for (std::size_t i = 0; i < std::min(parameters->numStallReasons, FakePcSampling::reasonCount()); ++i) {
        parameters->stallReasonIndex[i] = FakePcSampling::reasonIndex(i);
        std::strncpy(parameters->stallReasons[i], FakePcSampling::reasonName(i),
                     CUPTI_STALL_REASON_STRING_SIZE - 1);
    }
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCubinCrc(CUpti_GetCubinCrcParams* parameters)
{
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (std::size_t i = 0; i < parameters->cubinSize; ++i)
        hash = (hash ^ static_cast<const unsigned char*>(parameters->cubin)[i]) * 0x100000001b3ULL;
    parameters->cubinCrc = hash;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, std::uint32_t* device)
{
    const char* gpus = std::getenv("FAKE_PC_GPUS");
    const int count = gpus ? std::atoi(gpus) : 1;
    *device = count > 1 ? (reinterpret_cast<std::uintptr_t>(context) - 1) % static_cast<unsigned>(count) : 0;
    return CUPTI_SUCCESS;
}
}
