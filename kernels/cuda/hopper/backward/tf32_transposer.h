#pragma once

#include "kernels/cuda/hopper/backward/tf32_tile.h"

/// The third role of the TF32 backward kernel: a warpgroup that transposes K, Q and gradO, because wgmma
/// requires K-major TF32 operands. The depth of dS K is the keys; that of dS^T Q and P^T gradO is the
/// queries.
namespace tilescope::kernels::hopper {

/// Transposes a tile with few registers, because the consumers need the others.
/// \tparam kOrder  kOrder(c) is the row of the tile that becomes column c
template <int Rows, int HeadDim, int (*kOrder)(int)>
__device__ void transpose(const unsigned char* tile, unsigned char* transposed)
{
    using Transpose = Transposition<Rows, HeadDim>;
    constexpr unsigned kWarps = kWarpgroup / 32;
    constexpr unsigned kHeld = 16; // rows at a time, of one column
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = __shfl_sync(~0U, threadIdx.x % kWarpgroup / 32, 0);
#pragma unroll 1
    for (unsigned block = warp; block < Transpose::kBlocks; block += kWarps) {
#pragma unroll
        for (unsigned first = 0; first < Transpose::kEdge; first += kHeld) {
            float column[kHeld];
#pragma unroll
            for (unsigned i = 0; i < kHeld; ++i)
                column[i] =
                    *reinterpret_cast<const float*>(tile + Transpose::source(block, lane, kOrder(first + i)));
#pragma unroll
            for (unsigned i = 0; i < kHeld; i += 4)
                *reinterpret_cast<float4*>(transposed + Transpose::target(block, lane, (first + i) / 4)) =
                    make_float4(column[i], column[i + 1], column[i + 2], column[i + 3]);
        }
    }
    // Orders the writes before the products, and the reads before TMA overwrites the tile.
    fenceAsyncProxy();
}

template <class Tile>
__device__ void transposeTiles(const BackwardArguments& arguments, Tf32BackwardMemory<Tile>& shared)
{
    StepRing<Tile::stages> ring;
    StepRing<Tile::transposedStages> transposedRing;
    for (unsigned number = 0;; ++number) {
        const auto workTileRing = ringAt<kWorkTileStages>(number);
        wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
        const BackwardWorkTile& workTile = shared.workTile[workTileRing.stage];
        if (workTile.keyTile < 0)
            break;
        wait(shared.keyFull, number & 1);
        transpose<Tile::keys, Tile::headDim, keyOfScoreColumn>(shared.key, shared.keyTransposed);
        release(shared.keyTransposedFull);
        release(shared.keyEmpty);
        const int steps = stepsOf(arguments, workTile);
#pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            const int from = ring.stage();
            const int to = transposedRing.stage();
            wait(shared.gradFull[from], ring.parity());
            wait(shared.gradTransposedEmpty[to], transposedRing.parity() ^ 1);
            transpose<Tile::queries, Tile::headDim, keyOfColumn>(shared.gradO[from],
                                                                 shared.gradOTransposed[to]);
            release(shared.gradTransposedFull[to]);
            release(shared.gradEmpty[from]);
            wait(shared.queryFull[from], ring.parity());
            wait(shared.queryTransposedEmpty[to], transposedRing.parity() ^ 1);
            transpose<Tile::queries, Tile::headDim, keyOfColumn>(shared.query[from],
                                                                 shared.queryTransposed[to]);
            release(shared.queryTransposedFull[to]);
            release(shared.queryEmpty[from]);
            ring.advance();
            transposedRing.advance();
        }
        release(shared.workTileEmpty[workTileRing.stage]);
    }
}

} // namespace tilescope::kernels::hopper
