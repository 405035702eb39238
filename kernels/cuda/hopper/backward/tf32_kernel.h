#pragma once

#include "kernels/cuda/hopper/backward/tf32_pair.h"
#include "kernels/cuda/hopper/backward/tf32_producers.h"
#include "kernels/cuda/hopper/backward/tf32_single.h"
#include "kernels/cuda/hopper/backward/tf32_transposer.h"

/// Attention backward on Hopper for fp32 inputs rounded to TF32: gradQ, gradK, gradV for head dims up to 128
/// and more than 512 keys. kernel.h describes the five products and why scores are computed transposed.
///
/// Arithmetic: 2,048 operations per clock and SM, half of bf16's: 64 keys x 64 queries at d = 128 take 2560
/// clocks of products. Shared memory moves 128 bytes per clock and is the bound. In the same step products
/// read 208 KB (S 64, dP 32, gradV 32, gradK 32, gradQ 48), TMA writes 64, the transposition reads and writes
/// 64 each, and P and dS take 48: 448 KB, 3584 clocks. At d = 64 and 128 keys x 64 queries: 2560 clocks of
/// products; S 64, dP 32, gradV 32, gradK 32, gradQ 64, TMA 32, transposition 64, dS 32: 352 KB, 2816 clocks.
///
/// Design: TF32 operands of wgmma must be K-major. Only the operands of S and dP are: q and gradO are the
/// second operands, k is the first, and v is the first from registers. gradV and gradK need gradO and q
/// transposed, and gradQ needs k transposed. A warpgroup (tf32_transposer.h) transposes what TMA delivers,
/// rounded. The order of queries in it is that of P^T and dS^T in a consumer's registers (layout.h). Up to
/// head dim 64 each consumer owns 64 of 128 keys (tf32_single.h). Above, 227 KB cannot hold k and k^T of 128
/// keys beside the transposed tiles, and 224 registers cannot hold both gradients: two consumers share 64
/// keys (tf32_pair.h). Consumers add gradQ to global memory directly from registers, in their order.
///
/// The kernel is persistent: CTAs claim tiles of keys, as in bf16.
///
///     barriers                 filled by                  waited for by
///     workTileFull             keys' loader               all
///     workTileEmpty            all                        keys' loader
///     tileLoaded               queries' loader            keys' loader
///     keyFull, valueFull       TMA (k, v)                 transposer (k), consumers
///     keyTransposedFull        every transposer warp      consumers
///     keyEmpty                 transposer, consumers      keys' loader, for k and v
///     queryFull, gradFull      TMA (q + lse, gradO + delta)  transposer, consumers
///     queryEmpty, gradEmpty    the same                   queries' loader
///     ...TransposedFull        every transposer warp      consumers
///     ...TransposedEmpty       every consumer warp        transposer
///     kValuesLoaded            consumers (v is in registers)  consumers
///     kWeightsWritten          first of a pair (P)        second of the pair
///     kScoresWritten           second of a pair (dS)      first of the pair
///
/// The first consumer of a pair uses k, k^T, q and gradO transposed; the second v, gradO and q transposed.
namespace tilescope::kernels::hopper {

template <class Tile> __device__ void initBarriers(Tf32BackwardMemory<Tile>& shared)
{
    constexpr int kWarps = kWarpgroup / 32; // arrivals of each role: one per warp
    const auto init = [](Barrier& full, int writers, Barrier& empty, int readers) {
        initBarrier(full, writers);
        initBarrier(empty, readers);
    };
    initBarrier(shared.tileLoaded, 1);
    for (int i = 0; i < kWorkTileStages; ++i)
        init(shared.workTileFull[i], 1, shared.workTileEmpty[i], 1 + 3 * kWarps);
    constexpr int kReaders = Tile::readers * kWarps;
    init(shared.keyFull, 1, shared.keyEmpty, kReaders + kWarps);
    initBarrier(shared.keyTransposedFull, kWarps);
    initBarrier(shared.valueFull, 1);
    for (int i = 0; i < Tile::stages; ++i) {
        init(shared.queryFull[i], 1, shared.queryEmpty[i], kReaders + kWarps);
        init(shared.gradFull[i], 1, shared.gradEmpty[i], kReaders + kWarps);
    }
    for (int i = 0; i < Tile::transposedStages; ++i) {
        init(shared.queryTransposedFull[i], kWarps, shared.queryTransposedEmpty[i], kReaders);
        init(shared.gradTransposedFull[i], kWarps, shared.gradTransposedEmpty[i], kReaders);
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
        releaseRegisters<Tile::loaderRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(maps, arguments, shared);
        else if (threadIdx.x == 32)
            produceQueries<Tile>(maps, arguments, shared);
    } else if (threadIdx.x < 2 * kWarpgroup) {
        releaseRegisters<Tile::transposerRegisters>();
        transposeTiles<Tile>(arguments, shared);
    } else {
        acquireRegisters<Tile::consumerRegisters>();
        waitForPreviousKernel(); // zeroes the sums of gradQ
        const int consumer =
            __shfl_sync(~0U, threadIdx.x / kWarpgroup, 0) - 2; // uniform, also for the compiler
        if constexpr (!Tile::sharesKeys)
            Tf32BackwardSingleConsumer<Tile>(arguments, shared, consumer).run();
        else if (consumer == 0)
            Tf32BackwardValueConsumer<Tile>(arguments, shared).run();
        else
            Tf32BackwardKeyConsumer<Tile>(arguments, shared).run();
    }
}

} // namespace tilescope::kernels::hopper
