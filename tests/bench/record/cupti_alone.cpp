// The library that a driver loads by CUDA_INJECTION64_PATH and that records kernels with CUPTI and nothing else: no callback, no
// reading of the records. What it costs a program is the least that any recorder of kernels costs.
//
//   g++ -O2 -shared -fPIC -o libcupti_alone.so cupti_alone.cpp -I.../include -l:libcupti.so.13

#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

constexpr std::size_t kBytes = 1 << 20;

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

} // namespace

extern "C" int InitializeInjection()
{
    if (cuptiActivityRegisterCallbacks(&onRequest, &onComplete) == CUPTI_SUCCESS)
        for (const auto kind :
             {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
            cuptiActivityEnable(kind);
    return 1;
}
