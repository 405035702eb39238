#pragma once

#include <cuda_runtime_api.h>

namespace tilescope::kernels::hopper {

/// Dynamic tile scheduler of one launch: a CTA that has finished its tile claims the next number. All zero
/// between launches; the last CTA resets it.
struct TileScheduler {
    unsigned claimed;
    unsigned finishedCtas;
};

/// A scheduler that no recent launch uses. Launches on several streams may overlap.
TileScheduler* nextTileScheduler();

#ifdef __CUDACC__
__device__ inline int claimTile(TileScheduler& scheduler)
{
    // Not atomicAdd(), for which the compiler generates a reduction over the warp: a single thread claims.
    int tile;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(tile)
                 : "l"(&scheduler.claimed)
                 : "memory");
    return tile;
}

/// Each CTA calls this once, after its last claim.
__device__ inline void retireCta(TileScheduler& scheduler, unsigned ctas)
{
    __threadfence();
    if (atomicInc(&scheduler.finishedCtas, ctas - 1) == ctas - 1) // the last one wraps it to 0
        scheduler.claimed = 0;
}
#endif

} // namespace tilescope::kernels::hopper
