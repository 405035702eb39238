// The time of a launch by the enabled features of CUPTI: the least cost of any recorder of kernels.
//
//   nvcc -O2 -o cupti_cost cupti_cost.cu -lcuda -lcupti && for i in $(./cupti_cost); do ./cupti_cost $i; done
//
// Without an argument it prints its settings. With one it prints the nanoseconds of a launch as JSON: the median of the
// batches, and the first decile, which other load of the machine changes less.

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

__global__ void nothing(int) {}

constexpr std::size_t kBuffer = 1 << 20;
std::vector<std::uint8_t*> spare;

void onRequest(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records)
{
    if (spare.empty()) {
        auto* fresh = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBuffer));
        std::memset(fresh, 0, kBuffer);
        spare.push_back(fresh);
    }
    *buffer = spare.back();
    spare.pop_back();
    *bytes = kBuffer;
    *records = 0;
}
void onComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid)
{
    std::memset(buffer, 0, valid);
    spare.push_back(buffer);
}
void onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
std::uint64_t hostClock()
{
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void check(CUptiResult result, const char* what)
{
    if (result != CUPTI_SUCCESS)
        std::fprintf(stderr, "%s: CUPTI error %d\n", what, static_cast<int>(result));
}

template <class Value> void set(CUpti_ActivityAttribute attribute, Value value)
{
    std::size_t size = sizeof(value);
    check(cuptiActivitySetAttribute(attribute, &size, &value), "attribute");
}

bool has(const std::string& setting, const char* word)
{
    return setting.find(word) != std::string::npos;
}

void prepare(const std::string& setting)
{
    CUpti_SubscriberHandle subscriber{};
    if (setting == "bare")
        return;
    check(cuptiSubscribe(&subscriber, &onCallback, nullptr), "subscribe");
    if (has(setting, "pinned"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
    if (has(setting, "zeroed"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
    if (has(setting, "shared"))
        set<std::uint8_t>(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
    if (has(setting, "large"))
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 32 << 20);
    if (has(setting, "small"))
        set<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 256 << 10);
    if (has(setting, "clock"))
        check(cuptiActivityRegisterTimestampCallback(&hostClock), "clock");
    if (has(setting, "kernels")) {
        check(cuptiActivityRegisterCallbacks(&onRequest, &onComplete), "buffers");
        check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels");
    }
    if (has(setting, "copies"))
        for (const auto kind : {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
            check(cuptiActivityEnable(kind), "copies");
    if (has(setting, "overhead"))
        check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), "overhead");
    if (has(setting, "calls"))
        for (const auto id :
             {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
            check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id), "calls");
    if (has(setting, "runtime"))
        check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                  CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
              "runtime calls");
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::puts(
            "bare subscribed calls runtime kernels kernels,clock kernels,zeroed kernels,pinned "
            "kernels,shared "
            "kernels,large kernels,small kernels,copies,overhead calls,kernels,copies,overhead,clock,zeroed");
        return 0;
    }
    const std::string setting = argv[1];
    prepare(setting);
    constexpr int kBatches = 200;
    constexpr int kLaunches = 500;
    std::vector<double> times;
    for (int batch = 0; batch < kBatches + 20; ++batch) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kLaunches; ++i)
            nothing<<<1, 32>>>(i);
        const auto end = std::chrono::steady_clock::now();
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 1;
        if (batch >= 20)
            times.push_back(std::chrono::duration<double, std::nano>(end - start).count() / kLaunches);
    }
    std::sort(times.begin(), times.end());
    std::printf("{\"setting\": \"%s\", \"launch_ns\": %.0f, \"quiet_ns\": %.0f}\n", setting.c_str(),
                times[times.size() / 2], times[times.size() / 10]);
    return 0;
}
