#pragma once

#include "kernels/cuda/hopper/forward/consumer.h"
#include "kernels/cuda/hopper/forward/producers.h"
#include "kernels/cuda/hopper/forward/rows.h"

/// Attention forward on Hopper: o = softmax(scale q k^T) v for bf16 and fp16.
///
/// Arithmetic: 4 N^2 d operations a head, all of them wgmma, and N^2 exponentials. One SM does 4096
/// operations and 16 exponentials a clock: for a 64 x 128 tile of scores at d = 128 that is 1024 clocks of
/// products and 512 of exponentials, so the products are the bound and must never wait for a softmax. At d =
/// 64 both take 512, and only overlap comes near either.
///
/// How: two threads move tiles of q, k, v by TMA (producers.h); each consumer warpgroup owns 64 query
/// rows (consumer.h, rows.h). A consumer issues S' = q k'^T of the next key tile before O +=
/// P v of the present one, and does the softmax of S' while both run; consumers take turns at issuing, so
/// that one's softmax lies under the other's products (FlashAttention-3, arXiv:2407.08608, sections 3.1
/// and 3.2). CTAs stay and draw tiles, longest first where the mask makes them unequal; the next tile's first
/// product is issued before the last of this one, so that short rows do not pay for a beginning and an end
/// each. Query heads that share a key head share tiles.
///
/// The softmax looks for a row's largest score in a few keys only. Any number will do to lower the exponents
/// that keeps exponentials in range; when one does not, that tile of scores is computed once more, and the
/// largest taken.
///
///     barriers            filled by            waited for by
///     queryFull           TMA (q tile)         consumers, values' producer
///     queryEmpty          the same (o stored)  keys' producer, before the next q tile
///     keyFull/valueFull   TMA (k, v stage)     consumers
///     keyEmpty/valueEmpty every consumer warp  their producer, before the stage is filled again
namespace tilescope::kernels::hopper {

/// The kernel, for one thread of a CTA.
template <class Tile, class Element>
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
        giveRegisters<Tile::producerRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(queryMap, keyMap, valueMap, arguments, shared);
        else if (threadIdx.x == 32)
            produceValues<Tile>(valueMap, arguments, shared,
                                Deliveries{shared.value, shared.valueFull, shared.valueEmpty});
    } else {
        takeRegisters<Tile::consumerRegisters>();
        ForwardConsumer<Tile, ForwardRows<Tile, Element>>{outputMap, arguments, shared}.run();
    }
}

} // namespace tilescope::kernels::hopper
