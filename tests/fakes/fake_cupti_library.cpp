// A libcupti.so.13 without a GPU: what a recorded program has loaded. The program launches by fakeLaunch(), whose
// kernel ends at once.

#include "tests/support/fake_cupti.h"

#include <cupti.h>

namespace {

using tilescope::trace::FakeCupti;

FakeCupti& fake()
{
    static auto* const cupti = new FakeCupti;
    return *cupti;
}

} // namespace

extern "C" {

void fakeLaunch(const char* kernel)
{
    const std::uint32_t correlation = fake().launch();
    fake().kernel(correlation, kernel);
}

void fakeWait()
{
    fake().call("cudaDeviceSynchronize");
}

/// cudaProfilerStart and cudaProfilerStop.
void fakeProfiler(int starts)
{
    fake().call(starts ? "cuProfilerStart" : "cuProfilerStop");
}

/// How often CUPTI was taken out of the process.
int fakeFinalized()
{
    return fake().finalized();
}

/// As if another profiler had subscribed first.
void fakeRival()
{
    fake().subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake().rivalName = "Another profiler";
}

CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* /*size*/,
                                               void* /*value*/)
{
    return fake().setAttribute(attribute, 0);
}
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                       void* owner, CUpti_SubscriberParams* parameters)
{
    std::string rival;
    const CUptiResult result = fake().subscribe(*subscriber, callback, owner, rival);
    rival.copy(parameters->oldSubscriberName, parameters->oldSubscriberSize - 1);
    return result;
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    return fake().unsubscribe(subscriber);
}
CUptiResult CUPTIAPI cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return fake().enableCallback(enable != 0, subscriber, domain, id);
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name)
{
    return fake().callbackName(domain, id, *name);
}
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    return fake().registerTimestamps(clock);
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete)
{
    return fake().registerBuffers(request, complete);
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return fake().enableActivity(true, kind);
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return fake().enableActivity(false, kind);
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t /*flag*/)
{
    return fake().flush(true);
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, std::uint32_t stream,
                                                       std::size_t* count)
{
    return fake().dropped(context, stream, *count);
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes,
                                                CUpti_Activity** record)
{
    return fake().nextRecord(buffer, bytes, *record);
}
CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id)
{
    return fake().graphNodeId(node, *id);
}
CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, std::uint8_t /*perThread*/,
                                        std::uint32_t* id)
{
    return fake().streamId(context, stream, *id);
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult /*result*/, const char** text)
{
    *text = "an error of the fake";
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiFinalize()
{
    return fake().finalize();
}
}
