#pragma once

#include "kernels/cuda/hopper/forward/tf32_tile.h"

/// The TF32 forward kernel's third role: a warpgroup that transposes V, since wgmma wants TF32 operands whose
/// rows run along the depth of the product, which in P V are the keys.
namespace tilescope::kernels::hopper {

/// What a thread holds of V between two places: columns of 32 keys, one for each of its warp's blocks.
template <class Tile> struct ValueColumns {
    using Way = Transposition<Tile::keys, Tile::headDim>;
    static constexpr unsigned kWarps = kWarpgroup / 32;
    static constexpr unsigned kColumns = (Way::kBlocks + kWarps - 1) / kWarps;

    float column[kColumns][kTf32Columns];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = __shfl_sync(~0U, threadIdx.x % kWarpgroup / 32, 0);

    /// The last blocks may be fewer than the warps.
    __device__ bool has(unsigned i) const
    {
        return (i + 1) * kWarps <= Way::kBlocks || i * kWarps + warp < Way::kBlocks;
    }

    __device__ void read(const unsigned char* values)
    {
#pragma unroll
        for (unsigned i = 0; i < kColumns; ++i) {
            if (!has(i))
                continue;
#pragma unroll
            for (unsigned key = 0; key < Way::kEdge; ++key)
                column[i][key] =
                    *reinterpret_cast<const float*>(values + Way::source(i * kWarps + warp, lane, key));
        }
    }

    __device__ void write(unsigned char* transposed) const
    {
#pragma unroll
        for (unsigned i = 0; i < kColumns; ++i) {
            if (!has(i))
                continue;
#pragma unroll
            for (unsigned chunk = 0; chunk < kChunksPerRow; ++chunk)
                *reinterpret_cast<float4*>(transposed + Way::target(i * kWarps + warp, lane, chunk)) =
                    make_float4(column[i][keyOfColumn(4 * chunk)], column[i][keyOfColumn(4 * chunk + 1)],
                                column[i][keyOfColumn(4 * chunk + 2)], column[i][keyOfColumn(4 * chunk + 3)]);
        }
    }
};

/// Takes V where the copy engine delivered it and puts it, transposed, where the consumers read it. The
/// delivery's place is free again as soon as all of it is in registers.
template <class Tile> __device__ void transposeValues(Tf32Memory<Tile>& shared)
{
    RingPosition<1> deliveries;
    RingPosition<Tile::stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    while (true) {
        wait(shared.queryFull[queryRing.stage], queryRing.parity);
        const int keyTiles = shared.place[queryRing.stage].keyTiles;
        if (keyTiles == kNoTile)
            break;
        release(shared.queryEmpty[queryRing.stage]);
        queryRing.advance();
#pragma unroll 1
        for (int keyTile = 0; keyTile < keyTiles; ++keyTile) {
            ValueColumns<Tile> columns;
            wait(shared.deliveredFull[deliveries.stage], deliveries.parity);
            columns.read(shared.delivered[deliveries.stage]);
            fenceAsyncProxy(); // an arrival alone may pass loads under way, and the next V overtake them
            release(shared.deliveredEmpty[deliveries.stage]);
            deliveries.advance();
            wait(shared.valueEmpty[ring.stage], ring.parity ^ 1);
            columns.write(shared.value[ring.stage]);
            fenceAsyncProxy();
            release(shared.valueFull[ring.stage]);
            ring.advance();
        }
    }
}

} // namespace tilescope::kernels::hopper
