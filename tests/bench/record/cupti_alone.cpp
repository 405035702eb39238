// The library that a driver loads by CUDA_INJECTION64_PATH and that records kernels with CUPTI and nothing else: no callback, no
// reading of the records. What it costs a program is the least that any recorder of kernels costs. Settings that are to be tried, joined
// by commas (see prepare()), come from the variable CUPTI_ALONE, or from a program that calls start() and stop().
//
//   g++ -O2 -shared -fPIC -o libcupti_alone.so cupti_alone.cpp -I.../include -l:libcupti.so.13

#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr auto kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                         CUPTI_ACTIVITY_KIND_MEMSET};

void onRequest(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records)
{
    *buffer = static_cast<std::uint8_t*>(std::calloc(1, kBytes));
    *bytes = *buffer ? kBytes : 0;
    *records = 0;
}
void onComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t)
{
    std::free(buffer);
}
void onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

template <class Value> void set(CUpti_ActivityAttribute attribute, Value value)
{
    std::size_t size = sizeof(value);
    cuptiActivitySetAttribute(attribute, &size, &value);
}

void prepare(const std::string& settings)
{
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
    if (has("flushed"))
        cuptiActivityFlushPeriod(500);
    if (has("calls")) {
        static CUpti_SubscriberHandle subscriber{};
        if (!subscriber)
            cuptiSubscribe(&subscriber, &onCallback, nullptr);
        for (const auto id :
             {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
            cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
}

} // namespace

extern "C" {

void start(const char* settings)
{
    prepare(settings);
    if (cuptiActivityRegisterCallbacks(&onRequest, &onComplete) == CUPTI_SUCCESS)
        for (const auto kind : kKinds)
            cuptiActivityEnable(kind);
}
void stop()
{
    for (const auto kind : kKinds)
        cuptiActivityDisable(kind);
    cuptiActivityFlushAll(1);
}
int InitializeInjection()
{
    const char* settings = std::getenv("CUPTI_ALONE");
    start(settings ? settings : "");
    return 1;
}
}
