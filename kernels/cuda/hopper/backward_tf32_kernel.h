#pragma once

#include "kernels/cuda/hopper/backward_tf32_consumers.h"
#include "kernels/cuda/hopper/backward_tf32_producers.h"
#include "kernels/cuda/hopper/backward_tf32_transposer.h"

namespace tilescope::kernels::hopper {

template <class Tile> __device__ void initBarriers(Tf32BackwardMemory<Tile>& shared)
{
    constexpr int kWarps = kWarpgroup / 32; // of each role: every warp of it arrives
    const auto init = [](Barrier& full, int writers, Barrier& empty, int readers) {
        initBarrier(full, writers);
        initBarrier(empty, readers);
    };
    initBarrier(shared.tileLoaded, 1);
    for (int i = 0; i < kBackwardPlaces; ++i)
        init(shared.placeFull[i], 1, shared.placeEmpty[i], 1 + 3 * kWarps);
    init(shared.keyFull, 1, shared.keyEmpty, 2 * kWarps);
    init(shared.keyTransposedFull, kWarps, shared.keyTransposedEmpty, kWarps);
    init(shared.valueFull, 1, shared.valueEmpty, 2 * kWarps);
    for (int i = 0; i < Tile::stages; ++i) {
        init(shared.queryFull[i], 1, shared.queryEmpty[i], 2 * kWarps);
        init(shared.gradFull[i], 1, shared.gradEmpty[i], 2 * kWarps);
    }
    for (int i = 0; i < Tile::transposedStages; ++i) {
        init(shared.queryTransposedFull[i], kWarps, shared.queryTransposedEmpty[i], kWarps);
        init(shared.gradTransposedFull[i], kWarps, shared.gradTransposedEmpty[i], kWarps);
    }
    fenceBarrierInit();
}

/// The kernel, for one thread of a CTA.
template <class Tile>
__device__ void runBackwardTf32(const Tf32BackwardMaps& maps, const Tf32BackwardArguments& arguments,
                                Tf32BackwardMemory<Tile>& shared)
{
    if (threadIdx.x == 0)
        initBarriers(shared);
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        giveRegisters<Tile::loaderRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(maps, arguments, shared);
        else if (threadIdx.x == 32)
            produceQueries<Tile>(maps, arguments, shared);
    } else if (threadIdx.x < 2 * kWarpgroup) {
        giveRegisters<Tile::transposerRegisters>();
        transposeTiles<Tile>(arguments, shared);
    } else {
        takeRegisters<Tile::consumerRegisters>();
        awaitKernelBefore(); // zeros to add to
        if (threadIdx.x < 3 * kWarpgroup)
            Tf32BackwardValueConsumer<Tile>(arguments, shared).run();
        else
            Tf32BackwardKeyConsumer<Tile>(arguments, shared).run();
    }
}

} // namespace tilescope::kernels::hopper
