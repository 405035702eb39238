// A library that records kernels with CUPTI and nothing else: nobody reads the records. What it costs a program is the least that any
// recorder of kernels costs. The driver loads it by CUDA_INJECTION64_PATH, or a program calls start() and stop() in turns. Settings that
// are to be tried, joined by + (see prepare()), come from the variable CUPTI_ALONE or from start(). "recorder" stands for those of
// `tilescope record`.

#include <cupti.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBytes = 1 << 20;

CUpti_SubscriberHandle subscriber{};
std::vector<CUpti_ActivityKind> kinds;

/// Buffers whose memory was written before, so that the launching thread meets no new page.
struct Pool {
    std::mutex mutex;
    std::vector<std::uint8_t*> free;
};
Pool& pool()
{
    static auto* const all = new Pool;
    return *all;
}

void onRequest(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records)
{
    const std::lock_guard lock(pool().mutex);
    if (pool().free.empty()) {
        *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(4096, kBytes));
        std::memset(*buffer, 0, kBytes);
    } else {
        *buffer = pool().free.back();
        pool().free.pop_back();
    }
    *bytes = kBytes;
    *records = 0;
}
void onComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t written)
{
    std::memset(buffer, 0, written);
    const std::lock_guard lock(pool().mutex);
    pool().free.push_back(buffer);
}
void onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
std::uint64_t clockNow()
{
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

template <class Value> void set(CUpti_ActivityAttribute attribute, Value value)
{
    std::size_t size = sizeof(value);
    cuptiActivitySetAttribute(attribute, &size, &value);
}

void callBack(CUpti_CallbackDomain domain, std::initializer_list<CUpti_CallbackId> ids)
{
    for (const CUpti_CallbackId id : ids)
        cuptiEnableCallback(1, subscriber, domain, id);
}

/// \return  the number behind `word`; 0 if the settings lack it
unsigned numberAfter(const std::string& settings, const char* word)
{
    const std::size_t at = settings.find(word);
    return at == std::string::npos
               ? 0
               : static_cast<unsigned>(std::atoi(settings.c_str() + at + std::strlen(word)));
}

void prepare(std::string settings)
{
    if (settings == "recorder")
        settings = "zeroed+clock+calls+waits+graphs+copies+overhead";
    const auto has = [&](const char* word) { return settings.find(word) != std::string::npos; };
    if (has("zeroed"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
    if (has("pinned"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
    if (has("shared"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
    if (has("large"))
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 32 << 20);
    if (has("small"))
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 256 << 10);
    if (has("preallocated"))
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 32);
    if (const unsigned period = numberAfter(settings, "period="))
        cuptiActivityFlushPeriod(period); // ms
    if (has("clock"))
        cuptiActivityRegisterTimestampCallback(&clockNow);
    if (has("calls"))
        callBack(CUPTI_CB_DOMAIN_DRIVER_API,
                 {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                  CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
                  CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
                  CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
                  CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch});
    if (has("calls"))
        callBack(CUPTI_CB_DOMAIN_RUNTIME_API, {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020});
    if (has("waits")) {
        callBack(CUPTI_CB_DOMAIN_RUNTIME_API, {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020});
        callBack(CUPTI_CB_DOMAIN_DRIVER_API,
                 {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                  CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize});
    }
    if (has("graphs"))
        callBack(CUPTI_CB_DOMAIN_RESOURCE,
                 {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED});
    if (!has("nothing"))
        kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                 CUPTI_ACTIVITY_KIND_MEMSET};
    if (has("copies"))
        kinds.push_back(CUPTI_ACTIVITY_KIND_MEMCPY2);
    if (has("overhead"))
        kinds.push_back(CUPTI_ACTIVITY_KIND_OVERHEAD);
}

} // namespace

extern "C" {

/// \return  0; otherwise CUPTI's error, for example because another profiler of the process has not left yet
int start(const char* settings)
{
    if (const CUptiResult result = cuptiSubscribe(&subscriber, &onCallback, nullptr); result != CUPTI_SUCCESS)
        return result;
    kinds.clear();
    prepare(settings);
    if (const CUptiResult result = cuptiActivityRegisterCallbacks(&onRequest, &onComplete);
        result != CUPTI_SUCCESS)
        return result;
    for (const auto kind : kinds)
        if (const CUptiResult result = cuptiActivityEnable(kind); result != CUPTI_SUCCESS)
            return result;
    return 0;
}
/// Takes CUPTI out of the process, so that launches take no longer than without it. Nothing may run on the GPU.
int stop()
{
    for (const auto kind : kinds)
        cuptiActivityDisable(kind);
    cuptiActivityFlushAll(1);
    cuptiUnsubscribe(subscriber);
    return cuptiFinalize();
}
/// Takes CUPTI out of the process if nobody uses it.
/// \return  0 once it is out; otherwise CUPTI's error
int leave()
{
    const CUptiResult result = cuptiSubscribe(&subscriber, &onCallback, nullptr);
    return result == CUPTI_SUCCESS ? cuptiFinalize() : result;
}
int InitializeInjection()
{
    const char* settings = std::getenv("CUPTI_ALONE");
    start(settings ? settings : "");
    return 1;
}
}
