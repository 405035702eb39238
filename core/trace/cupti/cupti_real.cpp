#include "core/trace/cupti/cupti_api.h"
#include "core/trace/cupti/kernel_sampler.h"

#include <cuda_runtime_api.h>

#include <dlfcn.h>

namespace tilescope::trace {

namespace {

class RealCupti final : public CuptiApi {
public:
    CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t value) override
    {
        std::size_t size = sizeof(value);
        // This one attribute is a byte.
        auto byte = static_cast<std::uint8_t>(value);
        if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
            size = sizeof(byte);
            return cuptiActivitySetAttribute(attribute, &size, &byte);
        }
        return cuptiActivitySetAttribute(attribute, &size, &value);
    }

    CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback, void* owner,
                          std::string& rival) override
    {
        char oldName[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN * 2] = {};
        CUpti_SubscriberParams parameters{};
        parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        parameters.subscriberName = "Tilescope";
        parameters.oldSubscriberName = oldName;
        parameters.oldSubscriberSize = sizeof(oldName);
        const CUptiResult result = cuptiSubscribe_v2(&subscriber, callback, owner, &parameters);
        oldName[sizeof(oldName) - 1] = '\0';
        rival = oldName;
        // Overheads then name threads as everything else here does.
        if (result == CUPTI_SUCCESS)
            cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
        return result;
    }
    CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) override
    {
        return cuptiUnsubscribe(subscriber);
    }
    CUptiResult enableCallback(bool enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                               CUpti_CallbackId id) override
    {
        return cuptiEnableCallback(enable ? 1 : 0, subscriber, domain, id);
    }
    CUptiResult callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char*& name) override
    {
        return cuptiGetCallbackName(domain, id, &name);
    }

    CUptiResult registerTimestamps(CUpti_TimestampCallbackFunc clock) override
    {
        return cuptiActivityRegisterTimestampCallback(clock);
    }
    CUptiResult registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) override
    {
        return cuptiActivityRegisterCallbacks(request, complete);
    }
    CUptiResult enableActivity(bool enable, CUpti_ActivityKind kind) override
    {
        return enable ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind);
    }
    CUptiResult flush(bool forced) override
    {
        return cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    }
    CUptiResult dropped(CUcontext context, std::uint32_t stream, std::size_t& count) override
    {
        return cuptiActivityGetNumDroppedRecords(context, stream, &count);
    }
    CUptiResult nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record) override
    {
        return cuptiActivityGetNextRecord(buffer, bytes, &record);
    }

    CUptiResult graphNodeId(CUgraphNode node, std::uint64_t& id) override
    {
        return cuptiGetGraphNodeId(node, &id);
    }
    CUptiResult streamId(CUcontext context, CUstream stream, std::uint32_t& id) override
    {
        return cuptiGetStreamIdEx(context, stream, 0, &id);
    }
    std::string resultName(CUptiResult result) override
    {
        const char* text = nullptr;
        if (cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text)
            return text;
        return "CUPTI error " + std::to_string(static_cast<int>(result));
    }
    CUptiResult finalize() override { return cuptiFinalize(); }
    bool synchronizeDevice() override { return cudaDeviceSynchronize() == cudaSuccess; }
    CUcontext currentContext() override
    {
        // The driver is a library of the machine, which is not linked.
        void* function = nullptr;
        if (cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 4000, cudaEnableDefault,
                                             nullptr) != cudaSuccess ||
            !function)
            return nullptr;
        CUcontext context = nullptr;
        return reinterpret_cast<CUresult (*)(CUcontext*)>(function)(&context) == CUDA_SUCCESS ? context
                                                                                              : nullptr;
    }
    std::optional<PcSamplingApi> pcSampling(std::string& reason) override
    {
        Dl_info info{};
        void* library = dladdr(reinterpret_cast<const void*>(&cuptiGetVersion), &info) != 0 && info.dli_fname
                            ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                            : nullptr;
        std::uint32_t version = 0;
        cuptiGetVersion(&version);
        return PcSamplingApi::find(library, version, reason);
    }
};

} // namespace

CuptiApi& realCupti()
{
    static RealCupti api;
    return api;
}

std::unique_ptr<KernelSampler> makeKernelSampler()
{
    return std::make_unique<KernelSampler>(realCupti());
}

} // namespace tilescope::trace
