#include "kernels/cuda/hopper/common/tile_scheduler.h"

#include "kernels/cuda/common/device.h"

#include <array>
#include <atomic>

namespace tilescope::kernels::hopper {

namespace {

constexpr unsigned kSets = 1024;
__device__ TileScheduler deviceSchedulers[kSets];

} // namespace

TileScheduler* nextTileScheduler()
{
    static std::atomic<unsigned> next{0};
    static std::array<std::atomic<TileScheduler*>, kMaxDevices> addresses{};
    const int device = currentDevice();
    if (device < 0 || device >= kMaxDevices)
        return nullptr;
    TileScheduler* first = addresses[device].load(std::memory_order_relaxed);
    if (!first) {
        void* address = nullptr;
        if (cudaGetSymbolAddress(&address, deviceSchedulers) != cudaSuccess)
            return nullptr;
        first = static_cast<TileScheduler*>(address);
        addresses[device].store(first, std::memory_order_relaxed);
    }
    return first + next.fetch_add(1, std::memory_order_relaxed) % kSets;
}

} // namespace tilescope::kernels::hopper
