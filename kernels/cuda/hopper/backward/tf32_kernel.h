#pragma once

#include "kernels/cuda/hopper/backward/tf32_pair.h"
#include "kernels/cuda/hopper/backward/tf32_producers.h"
#include "kernels/cuda/hopper/backward/tf32_single.h"
#include "kernels/cuda/hopper/backward/tf32_transposer.h"

/// Attention backward on Hopper for fp32 inputs rounded to TF32: gradQ, gradK, gradV for head dims up to 128
/// and more than 512 keys. kernel.h has the five products and why scores are computed transposed.
///
/// Arithmetic: 2,048 operations a clock and SM, half of bf16's, so 64 keys x 64 queries at d = 128 take 2560
/// clocks of products. Shared memory moves 128 bytes a clock: of the same step the products read 208 KB (S
/// 64, dP 32, gradV 32, gradK 32, gradQ 48), the copy engine writes 64, transposing reads and writes 64 each,
/// P and dS pass with 48: 448 KB, 3584 clocks, which is the bound. At d = 64, 128 keys x 64 queries: 2560
/// clocks of products; S 64, dP 32, gradV 32, gradK 32, gradQ 64, copies 32, transposing 64, dS 32: 352 KB,
/// 2816.
///
/// How: wgmma wants TF32 operands whose rows run along the depth of the product. Of q, k, v, gradO only what
/// S and dP need lies so: q and gradO are the second operands, k the first, and v is the first from
/// registers. gradV and gradK need gradO and q transposed, gradQ k transposed: a warpgroup writes those
/// (tf32_transposer.h) from what the copy engine delivers, rounded. The order of queries in them is
/// that of P^T and dS^T in a consumer's registers (layout.h). Up to head dim 64 each consumer owns 64 of 128
/// keys (tf32_single.h). Above, 227 KB do not hold k and k^T of so many beside the transposed tiles,
/// nor 224 registers both gradients: two consumers share 64 keys (tf32_pair.h). gradQ is summed in
/// global memory straight from registers, in their order.
///
/// CTAs stay on the device and draw tiles of keys, as in bf16.
///
///     barriers                 filled by                  waited for by
///     placeFull                keys' loader               everyone
///     placeEmpty               everyone                   keys' loader
///     tileLoaded               queries' loader            keys' loader
///     keyFull, valueFull       TMA (k, v)                 transposer (k), consumers
///     keyTransposedFull        every transposer warp      consumers
///     keyEmpty                 transposer, consumers      keys' loader, for k and v
///     queryFull, gradFull      TMA (q + lse, gradO + delta)  transposer, consumers
///     queryEmpty, gradEmpty    the same                   queries' loader
///     ...TransposedFull        every transposer warp      consumers
///     ...TransposedEmpty       every warp of these        transposer
///     kValuesTaken             v is in registers
///     kWeightsWritten          first of a pair (P)        second
///     kScoresWritten           second of a pair (dS)      first
///
/// Of a pair the first uses k, k^T, q and gradO transposed, the second v, gradO and q transposed.
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
        awaitKernelBefore();                                                    // zeros to add to
        const int consumer = __shfl_sync(~0U, threadIdx.x / kWarpgroup, 0) - 2; // seen to be uniform
        if constexpr (!Tile::sharesKeys)
            Tf32BackwardSingleConsumer<Tile>(arguments, shared, consumer).run();
        else if (consumer == 0)
            Tf32BackwardValueConsumer<Tile>(arguments, shared).run();
        else
            Tf32BackwardKeyConsumer<Tile>(arguments, shared).run();
    }
}

} // namespace tilescope::kernels::hopper
