#pragma once

#include "kernels/cuda/hopper/backward/tf32_tile.h"

/// The TF32 backward kernel's third role: a warpgroup that writes K, Q and gradO transposed, since wgmma
/// wants TF32 operands whose rows run along the depth of the product, which in dS K are the keys, in dS^T Q
/// and P^T gradO the queries.
namespace tilescope::kernels::hopper {

/// Writes a tile of rows transposed, a few registers at a time: with those that hold all of it the
/// consumers would have too few.
/// \tparam kOrder  which row of the tile is column c of the transposed
template <int Rows, int HeadDim, int (*kOrder)(int)>
__device__ void transpose(const unsigned char* tile, unsigned char* transposed)
{
    using Way = Transposition<Rows, HeadDim>;
    constexpr unsigned kWarps = kWarpgroup / 32;
    constexpr unsigned kHeld = 16; // rows at a time, of one column
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = __shfl_sync(~0U, threadIdx.x % kWarpgroup / 32, 0);
#pragma unroll 1
    for (unsigned block = warp; block < Way::kBlocks; block += kWarps) {
#pragma unroll
        for (unsigned first = 0; first < Way::kEdge; first += kHeld) {
            float column[kHeld];
#pragma unroll
            for (unsigned i = 0; i < kHeld; ++i)
                column[i] =
                    *reinterpret_cast<const float*>(tile + Way::source(block, lane, kOrder(first + i)));
#pragma unroll
            for (unsigned i = 0; i < kHeld; i += 4)
                *reinterpret_cast<float4*>(transposed + Way::target(block, lane, (first + i) / 4)) =
                    make_float4(column[i], column[i + 1], column[i + 2], column[i + 3]);
        }
    }
    // The operand is written before it is multiplied, and the tile read before the next one arrives there.
    fenceAsyncProxy();
}

template <class Tile>
__device__ void transposeTiles(const BackwardArguments& arguments, Tf32BackwardMemory<Tile>& shared)
{
    StepRing<Tile::stages> ring;
    StepRing<Tile::transposedStages> transposedRing;
    for (unsigned number = 0;; ++number) {
        const auto placeRing = ringAt<kBackwardPlaces>(number);
        wait(shared.placeFull[placeRing.stage], placeRing.parity);
        const BackwardPlace& place = shared.place[placeRing.stage];
        if (place.keyTile < 0)
            break;
        wait(shared.keyFull, number & 1);
        transpose<Tile::keys, Tile::headDim, keyOfScoreColumn>(shared.key, shared.keyTransposed);
        release(shared.keyTransposedFull);
        release(shared.keyEmpty);
        const int steps = stepsOf(arguments, place);
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
        release(shared.placeEmpty[placeRing.stage]);
    }
}

} // namespace tilescope::kernels::hopper
