// A libcupti.so.13 without a GPU: what a recorded program has loaded. The program launches by fakeLaunch(), whose
// kernel ends at once. With FAKE_CUPTI=13.3 it has several subscribers: then only the functions that name one work, and
// times are those of a clock of its own.

#include "tests/fakes/fake_pc_sampling.h"
#include "tests/support/fake_cupti.h"

#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {

using tilescope::trace::FakeCupti;

FakeCupti& fake()
{
    static auto* const cupti = new FakeCupti;
    return *cupti;
}

std::atomic<bool> tornDown{false};

bool isShared()
{
    static const bool shared = std::getenv("FAKE_CUPTI") != nullptr;
    return shared;
}

/// An hour ahead of the host's.
std::uint64_t ownClock()
{
    const auto time = std::chrono::steady_clock::now().time_since_epoch() + std::chrono::hours(1);
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

CUpti_SubscriberHandle subscriber = nullptr;
using RequestShared = void (*)(std::uint8_t**, std::size_t*, std::size_t*, void*);
using CompleteShared = void (*)(std::uint8_t*, std::size_t, std::size_t, void*);
RequestShared requestShared = nullptr;
CompleteShared completeShared = nullptr;

void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* maxRecords)
{
    requestShared(buffer, bytes, maxRecords, nullptr);
}
void complete(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer, std::size_t bytes,
              std::size_t validBytes)
{
    completeShared(buffer, bytes, validBytes, nullptr);
}

/// Whether a function of this form may be called.
CUptiResult allowed(bool namesSubscriber, CUpti_SubscriberHandle named = nullptr)
{
    if (tornDown)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (namesSubscriber)
        return isShared() && named && named == subscriber ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    return isShared() ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

} // namespace

extern "C" {

void fakeLaunch(const char* kernel)
{
    const std::uint32_t correlation = fake().launch();
    fake().kernel(correlation, kernel);
}

/// Captures a kernel into a graph and makes it executable.
void fakeCapture()
{
    constexpr std::uint64_t kNode = 1ULL << 32;
    fake().makeGraphNode(kNode);
    fake().cloneGraphNode(2 * kNode, kNode);
    fake().makeGraph(2, {});
}

/// CUPTI records the kernel of a replay or, if it was asked for that, the replay as a whole.
void fakeReplay()
{
    const std::uint32_t correlation = fake().call("cudaGraphLaunch");
    const bool asWhole = fake().enabledActivities().contains(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (asWhole)
        return fake().replay(correlation, 2);
    auto kernel = FakeCupti::kernelRecord(correlation, "captured", fake().soon());
    kernel.graphNodeId = 2ULL << 32;
    fake().record(kernel);
}

/// A context is created (1) or destroyed (0), and samples of it begin or end.
void fakeContext(std::uint64_t context, int isCreated)
{
    fake().tellContext(isCreated ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                                 : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                       reinterpret_cast<CUcontext>(context));
    if (!isCreated)
        tilescope::trace::FakePcSampling::instance().destroyContext(reinterpret_cast<CUcontext>(context));
}

void fakeModule(std::uint64_t context, int isLoaded, const char* cubin, std::size_t bytes)
{
    fake().tellModule(isLoaded ? CUPTI_CBID_RESOURCE_MODULE_LOADED
                               : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                      reinterpret_cast<CUcontext>(context), {cubin, bytes});
}

/// The effect of the end of the process on CUPTI before the recorder ends.
void fakeTearDown()
{
    tornDown = true;
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

/// The number of times that CUPTI was removed from the process.
int fakeFinalized()
{
    return fake().finalized();
}

/// Behaves as if another profiler had subscribed first.
void fakeRival()
{
    fake().subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake().rivalName = "Another profiler";
}

CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version)
{
    constexpr std::uint32_t kOfCuda121 = 18;
    const char* sampling = std::getenv("FAKE_PC_SAMPLING");
    if (sampling && std::strcmp(sampling, "old") == 0)
        fake().versionNumber = kOfCuda121;
    *version = isShared() ? 130300 : fake().versionNumber;
    return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* /*size*/,
                                               void* /*value*/)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().setAttribute(attribute, 0) : result;
}
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* made, CUpti_CallbackFunc callback, void* owner,
                                       CUpti_SubscriberParams* parameters)
{
    // 13.3 added allowMultipleSubscribers behind the members that its headers had before.
    const bool allows = parameters->structSize > CUpti_SubscriberParams_STRUCT_SIZE &&
                        reinterpret_cast<const char*>(parameters)[CUpti_SubscriberParams_STRUCT_SIZE] == 1;
    if (isShared() && !allows)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    std::string rival;
    const CUptiResult result = fake().subscribe(*made, callback, owner, rival);
    rival.copy(parameters->oldSubscriberName, parameters->oldSubscriberSize - 1);
    subscriber = *made;
    if (isShared())
        fake().registerTimestamps(&ownClock);
    return result;
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    return tornDown ? CUPTI_ERROR_NOT_INITIALIZED : fake().unsubscribe(subscriber);
}
CUptiResult CUPTIAPI cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return tornDown ? CUPTI_ERROR_NOT_INITIALIZED
                    : fake().enableCallback(enable != 0, subscriber, domain, id);
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name)
{
    return fake().callbackName(domain, id, *name);
}
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().registerTimestamps(clock) : result;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().registerBuffers(request, complete) : result;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().enableActivity(true, kind) : result;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().enableActivity(false, kind) : result;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t /*flag*/)
{
    return tornDown ? CUPTI_ERROR_NOT_INITIALIZED : fake().flush(true);
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, std::uint32_t stream,
                                                       std::size_t* count)
{
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().dropped(context, stream, *count) : result;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes,
                                                CUpti_Activity** record)
{
    return fake().nextRecord(buffer, bytes, *record);
}
CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graph, std::uint32_t* id)
{
    return fake().graphExecId(graph, *id);
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
    const CUptiResult result = allowed(false);
    return result == CUPTI_SUCCESS ? fake().finalize() : result;
}

// --- from 13.3 on ---

CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle named, CUpti_ActivityKind kind,
                                            void* /*fields*/)
{
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().enableActivity(true, kind) : result;
}
CUptiResult CUPTIAPI cuptiActivityDisable_v2(CUpti_SubscriberHandle named, CUpti_ActivityKind kind,
                                             void* /*fields*/)
{
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().enableActivity(false, kind) : result;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle named,
                                                       RequestShared takesRequest,
                                                       CompleteShared takesComplete)
{
    requestShared = takesRequest;
    completeShared = takesComplete;
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().registerBuffers(&request, &complete) : result;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle named,
                                                  CUpti_ActivityAttribute attribute, std::size_t* /*size*/,
                                                  void* /*value*/)
{
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().setAttribute(attribute, 0) : result;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle named, std::uint8_t* buffer,
                                                   std::size_t bytes, CUpti_Activity** record)
{
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().nextRecord(buffer, bytes, *record) : result;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle named, CUcontext context,
                                                          std::uint32_t stream, std::size_t* count)
{
    const CUptiResult result = allowed(true, named);
    return result == CUPTI_SUCCESS ? fake().dropped(context, stream, *count) : result;
}
CUptiResult CUPTIAPI cuptiGetTimestamp_v2(CUpti_SubscriberHandle named, std::uint64_t* time)
{
    *time = ownClock();
    return allowed(true, named);
}
}
