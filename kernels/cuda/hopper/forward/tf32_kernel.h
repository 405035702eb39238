#pragma once

#include "kernels/cuda/hopper/forward/consumer.h"
#include "kernels/cuda/hopper/forward/producers.h"
#include "kernels/cuda/hopper/forward/tf32_rows.h"
#include "kernels/cuda/hopper/forward/transposer.h"

/// Attention forward on Hopper for fp32 inputs rounded to TF32, more than 512 keys, head dims up to 128.
///
/// Arithmetic: 2,048 operations per clock and SM, half of bf16's. A tile of 128 queries x 64 keys at d = 128
/// takes 2048 clocks of products and 512 of exponentials. Shared memory moves 128 bytes per clock and is the
/// bound: for the same tile the products of both consumers read 192 KB (Q and K for the scores, V), TMA
/// writes 64, and the transposition of V reads and writes 32 each: 320 KB, 2560 clocks.
///
/// Design: the bf16 kernel (kernel.h) with the same producers, consumers, tile scheduler and ping-pong
/// barrier. The difference: TF32 operands of wgmma must be K-major. Q and K are, V is not. TMA delivers V to
/// a separate buffer, and a warpgroup (transposer.h) transposes it, with its keys in the order in which a
/// consumer's registers hold P (layout.h). TMA rounds Q, K and V to TF32; P is rounded when it becomes an
/// operand.
///
///     barriers        filled by              waited for by
///     queryFull       TMA (q tile)           consumers, values' loader, transposer
///     queryEmpty      the same (o stored)    keys' loader
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
        releaseRegisters<Tile::loaderRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(queryMap, keyMap, valueMap, arguments, shared);
        else if (threadIdx.x == 32)
            produceValues<Tile>(valueMap, arguments, shared,
                                Deliveries{shared.delivered, shared.deliveredFull, shared.deliveredEmpty});
    } else if (threadIdx.x < 2 * kWarpgroup) {
        releaseRegisters<Tile::transposerRegisters>();
        transposeValues(shared);
    } else {
        acquireRegisters<Tile::consumerRegisters>();
        ForwardConsumer<Tile, Tf32Rows<Tile>>{outputMap, arguments, shared}.run();
    }
}

} // namespace tilescope::kernels::hopper
