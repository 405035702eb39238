#pragma once

#include <cuda_runtime_api.h>

namespace tilescope::kernels::hopper {

/// Hands out tile numbers to the CTAs of one launch: whoever is done first takes the next. All zero between
/// launches; the last CTA to finish makes it so again.
struct TileTickets {
    unsigned drawn;
    unsigned finished;
};

/// Tickets that no launch of the recent past uses: launches on several streams may overlap.
TileTickets* nextTickets();

#ifdef __CUDACC__
__device__ inline int drawTicket(TileTickets& tickets)
{
    // Not atomicAdd(): one thread of the CTA draws, and the compiler would add up a whole warp's draws first.
    int drawn;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(drawn)
                 : "l"(&tickets.drawn)
                 : "memory");
    return drawn;
}

/// Called once by each CTA, after its last draw.
__device__ inline void returnTickets(TileTickets& tickets, unsigned ctas)
{
    __threadfence();
    if (atomicInc(&tickets.finished, ctas - 1) == ctas - 1) // wraps to 0 with the last one
        tickets.drawn = 0;
}
#endif

} // namespace tilescope::kernels::hopper
