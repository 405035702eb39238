#pragma once

#include "kernels/cuda/hopper/forward/consumer.h"
#include "kernels/cuda/hopper/forward/producers.h"
#include "kernels/cuda/hopper/forward/tf32_rows.h"
#include "kernels/cuda/hopper/forward/transposer.h"

/// Attention forward on Hopper for fp32 inputs rounded to TF32, more than 512 keys, head dims up to 128.
///
/// Arithmetic: 2,048 operations a clock and SM, half of bf16's, so a tile of 128 queries x 64 keys at d = 128
/// takes 2048 clocks of products and 512 of exponentials: products are the bound. Next is shared memory, 128
/// bytes a clock: of the same tile both consumers' products read 192 KB (Q and K for the scores, V), the copy
/// engine writes 64, and transposing V reads and writes 32 each: 320 KB, 2560 clocks.
///
/// How: as the bf16 kernel (kernel.h), with the same loads, consumers, order of tiles and turns. What
/// is different: wgmma wants TF32 operands whose rows run along the depth of the product. Q and K lie so. V
/// does not: the copy engine delivers it beside, and a warpgroup (transposer.h) writes it transposed,
/// its keys in the order in which P already lies in a consumer's registers (layout.h). Q, K and V are rounded
/// to TF32 by the copy engine, P as it becomes an operand.
///
///     barriers        filled by              waited for by
///     queryFull       TMA (q tile)           consumers, values' loader, transposer
///     queryEmpty      the same (o stored)    keys' loader, before the next q tile
///     keyFull         TMA (k stage)          consumers
///     keyEmpty        every consumer warp    keys' loader
///     deliveredFull   TMA (v)                transposer
///     deliveredEmpty  every transposer warp  values' loader
///     valueFull       every transposer warp  consumers
///     valueEmpty      every consumer warp    transposer
namespace tilescope::kernels::hopper {

template <class Tile> __device__ void initBarriers(Tf32Memory<Tile>& shared)
{
    constexpr int kTransposers = kWarpgroup / 32;
    constexpr int kConsumers = Tile::consumers * kWarpgroup / 32;
    for (int stage = 0; stage < Tile::queryStages; ++stage) {
        initBarrier(shared.queryFull[stage], 1);
        initBarrier(shared.queryEmpty[stage], Tile::consumers + 1 + kTransposers);
    }
    for (int stage = 0; stage < Tile::stages; ++stage) {
        initBarrier(shared.keyFull[stage], 1);
        initBarrier(shared.valueFull[stage], kTransposers);
        initBarrier(shared.keyEmpty[stage], kConsumers);
        initBarrier(shared.valueEmpty[stage], kConsumers);
    }
    initBarrier(shared.deliveredFull[0], 1);
    initBarrier(shared.deliveredEmpty[0], kTransposers);
    fenceBarrierInit();
}

/// The kernel, for one thread of a CTA.
template <class Tile>
__device__ void runTf32(const CUtensorMap& queryMap, const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                        const CUtensorMap& outputMap, const ForwardArguments& arguments,
                        Tf32Memory<Tile>& shared)
{
    if (threadIdx.x == 0)
        initBarriers(shared);
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        giveRegisters<Tile::loaderRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(queryMap, keyMap, valueMap, arguments, shared);
        else if (threadIdx.x == 32)
            produceValues<Tile>(valueMap, arguments, shared,
                                Deliveries{shared.delivered, shared.deliveredFull, shared.deliveredEmpty});
    } else if (threadIdx.x < 2 * kWarpgroup) {
        giveRegisters<Tile::transposerRegisters>();
        transposeValues(shared);
    } else {
        takeRegisters<Tile::consumerRegisters>();
        ForwardConsumer<Tile, Tf32Rows<Tile>>{outputMap, arguments, shared}.run();
    }
}

} // namespace tilescope::kernels::hopper
