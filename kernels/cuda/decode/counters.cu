#include "kernels/cuda/decode/counters.h"

#include "kernels/cuda/common/device.h"

#include <array>
#include <atomic>

namespace tilescope::kernels {

namespace {

constexpr unsigned kSets = 256;
__device__ unsigned deviceCounters[kSets][kMostDecodeCtas];

} // namespace

unsigned* nextDecodeCounters()
{
    static std::atomic<unsigned> next{0};
    static std::array<std::atomic<unsigned*>, kMaxDevices> addresses{};
    const int device = currentDevice();
    if (device < 0 || device >= kMaxDevices) {
        return nullptr;
    }
    unsigned* first = addresses[device].load(std::memory_order_relaxed);
    if (!first) {
        void* address = nullptr;
        if (cudaGetSymbolAddress(&address, deviceCounters) != cudaSuccess) {
            return nullptr;
        }
        first = static_cast<unsigned*>(address);
        addresses[device].store(first, std::memory_order_relaxed);
    }
    return first + next.fetch_add(1, std::memory_order_relaxed) % kSets * kMostDecodeCtas;
}

} // namespace tilescope::kernels
