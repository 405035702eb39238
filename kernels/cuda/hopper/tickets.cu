#include "kernels/cuda/hopper/tickets.h"

#include <atomic>

namespace tilescope::kernels::hopper {

namespace {

constexpr unsigned kSets = 1024;
__device__ TileTickets deviceTickets[kSets];

} // namespace

TileTickets* nextTickets()
{
    static std::atomic<unsigned> next{0};
    void* address = nullptr;
    if (cudaGetSymbolAddress(&address, deviceTickets) != cudaSuccess)
        return nullptr;
    return static_cast<TileTickets*>(address) + next++ % kSets;
}

} // namespace tilescope::kernels::hopper
