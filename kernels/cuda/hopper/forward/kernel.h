#pragma once

#include "kernels/cuda/hopper/forward/consumer.h"
#include "kernels/cuda/hopper/forward/producers.h"
#include "kernels/cuda/hopper/forward/rows.h"

/// Attention forward on Hopper: o = softmax(scale q k^T) v for bf16 and fp16.
///
/// Arithmetic: 4 N^2 d operations per head, all in wgmma, and N^2 exponentials. One SM does 4096 operations
/// and 16 exponentials per clock. A 64 x 128 tile of scores at d = 128 takes 1024 clocks of products and 512
/// of exponentials: products are the bound and must never wait for a softmax. At d = 64 both take 512 clocks,
/// so that they must overlap.
///
/// Design: two threads load tiles of q, k and v by TMA (producers.h). Each consumer warpgroup owns 64 query
/// rows (consumer.h, rows.h). A consumer issues S' = q k'^T of the next key tile before O += P v of the
/// current one and computes the softmax of S' while both run. A ping-pong barrier lets consumers issue
/// alternately, so that one's softmax overlaps with the other's products (FlashAttention-3, arXiv:2407.08608,
/// sections 3.1 and 3.2). The kernel is persistent: CTAs claim tiles, the longest first where the mask makes
/// them unequal. The next tile's first product is issued before the last one of this tile, which hides the
/// start and end of short tiles. Query heads that share a key head share tiles.
///
/// The softmax searches for a row's largest score in a few keys only. Any offset that keeps the exponentials
/// in range is correct. If one does not, the kernel computes this tile of scores again and takes the largest.
///
///     barriers            filled by            waited for by
///     queryFull           TMA (q tile)         consumers, values' producer
///     queryEmpty          the same (o stored)  keys' producer
///     keyFull/valueFull   TMA (k, v stage)     consumers
///     keyEmpty/valueEmpty every consumer warp  their producer
namespace tilescope::kernels::hopper {

/// The kernel, for one thread of a CTA.
template <class Tile, class Element, class State = ForwardRows<Tile, Element>>
__device__ void runForward(const CUtensorMap& queryMap, const CUtensorMap& keyMap,
                           const CUtensorMap& valueMap, const CUtensorMap& outputMap,
                           const ForwardArguments& arguments, ForwardMemory<Tile>& shared)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < Tile::queryStages; ++stage) {
            initBarrier(shared.queryFull[stage], 1);
            initBarrier(shared.queryEmpty[stage], Tile::consumers + 1);
        }
        for (int stage = 0; stage < Tile::stages; ++stage) {
            initBarrier(shared.keyFull[stage], 1);
            initBarrier(shared.valueFull[stage], 1);
            initBarrier(shared.keyEmpty[stage], Tile::consumers * 4);
            initBarrier(shared.valueEmpty[stage], Tile::consumers * 4);
        }
        fenceBarrierInit();
    }
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        releaseRegisters<Tile::producerRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(queryMap, keyMap, valueMap, arguments, shared);
        else if (threadIdx.x == 32)
            produceValues<Tile>(valueMap, arguments, shared,
                                Deliveries{shared.value, shared.valueFull, shared.valueEmpty});
    } else {
        acquireRegisters<Tile::consumerRegisters>();
        ForwardConsumer<Tile, State>{outputMap, arguments, shared}.run();
    }
}

} // namespace tilescope::kernels::hopper
