#pragma once

#include "kernels/cuda/hopper/forward/tf32_tile.h"

/// The third role of the TF32 forward kernel: a warpgroup that transposes V, because wgmma requires K-major
/// TF32 operands, and the depth of P V is the keys.
namespace tilescope::kernels::hopper {

/// A thread's part of V during the transposition: a column of 32 keys for each of its warp's blocks.
template <class Tile> struct ValueColumns {
    using Transpose = Transposition<Tile::keys, Tile::headDim>;
    static constexpr unsigned kWarps = kWarpgroup / 32;
    static constexpr unsigned kColumns = (Transpose::kBlocks + kWarps - 1) / kWarps;

    float column[kColumns][kTf32Columns];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = __shfl_sync(~0U, threadIdx.x % kWarpgroup / 32, 0);

    /// Not all warps may have a last block.
    __device__ bool has(unsigned i) const
    {
        return (i + 1) * kWarps <= Transpose::kBlocks || i * kWarps + warp < Transpose::kBlocks;
    }

    __device__ void read(const unsigned char* values)
    {
#pragma unroll
        for (unsigned i = 0; i < kColumns; ++i) {
            if (!has(i))
                continue;
#pragma unroll
            for (unsigned key = 0; key < Transpose::kEdge; ++key)
                column[i][key] =
                    *reinterpret_cast<const float*>(values + Transpose::source(i * kWarps + warp, lane, key));
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
                *reinterpret_cast<float4*>(transposed + Transpose::target(i * kWarps + warp, lane, chunk)) =
                    make_float4(column[i][keyOfColumn(4 * chunk)], column[i][keyOfColumn(4 * chunk + 1)],
                                column[i][keyOfColumn(4 * chunk + 2)], column[i][keyOfColumn(4 * chunk + 3)]);
        }
    }
};

/// Transposes V from the buffer that TMA writes to the stage that the consumers read. Releases the buffer as
/// soon as all of it is in registers.
template <class Tile> __device__ void transposeValues(Tf32Memory<Tile>& shared)
{
    RingPosition<1> deliveries;
    RingPosition<Tile::stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    while (true) {
        wait(shared.queryFull[queryRing.stage], queryRing.parity);
        const int keyTiles = shared.workTile[queryRing.stage].keyTiles;
        if (keyTiles == kNoTile)
            break;
        release(shared.queryEmpty[queryRing.stage]);
        queryRing.advance();
#pragma unroll 1
        for (int keyTile = 0; keyTile < keyTiles; ++keyTile) {
            ValueColumns<Tile> columns;
            wait(shared.deliveredFull[deliveries.stage], deliveries.parity);
            columns.read(shared.delivered[deliveries.stage]);
            fenceAsyncProxy(); // without it TMA might write the next V before these loads have finished
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
