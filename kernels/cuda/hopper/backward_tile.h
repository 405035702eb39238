#pragma once

#include "kernels/cuda/hopper/backward_passes.h"
#include "kernels/cuda/hopper/pipeline.h"
#include "kernels/cuda/tile_order.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::hopper {

constexpr int kBackwardKeys = 128;
constexpr int kBackwardConsumers = 2;

/// Query rows at a time: gradK and gradV take 128 registers at head dim 128, which leaves room for 64 rows of
/// S and dP.
template <int HeadDim> struct BackwardTile {
    static constexpr int headDim = HeadDim;
    static constexpr int queries = backwardQueries(HeadDim);
    static constexpr int stages = 2;
    static constexpr int panels = (HeadDim + kPanelColumns - 1) / kPanelColumns;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = kBackwardKeys * panels * kRowBytes;
    static constexpr int scoreBytes = kBackwardKeys * queries * 2;
    static constexpr int pieceFloats = 64 * 64; ///< of gradQ: what one consumer computes
    using Ring = RingPosition<stages>;
};

/// What a CTA works on.
struct BackwardPlace {
    int keyTile;
    int keyHead;
    int batch;
    int firstQueryTile; ///< of those that see a key of the tile
};

template <class Tile> struct BackwardShared {
    alignas(1024) unsigned char key[Tile::keyBytes];   // gradK leaves through here
    alignas(1024) unsigned char value[Tile::keyBytes]; // and gradV through here
    alignas(1024) unsigned char query[Tile::stages][Tile::queryBytes];
    alignas(1024) unsigned char gradO[Tile::stages][Tile::queryBytes];
    // dS^T: panels of 64 queries, 128 rows of keys.
    alignas(1024) unsigned char gradScores[Tile::stages][Tile::scoreBytes];
    alignas(128) float gradQuery[kBackwardConsumers][Tile::pieceFloats];
    alignas(16) float logSumExp2[Tile::stages][Tile::queries];
    alignas(16) float delta[Tile::stages][Tile::queries];
    BackwardPlace place; // here rather than in registers, of which the consumers have none to spare
    Barrier keysFull;
    Barrier queryFull[Tile::stages], queryEmpty[Tile::stages];
    Barrier gradFull[Tile::stages], gradEmpty[Tile::stages];
};

struct BackwardArguments {
    TileOrder order; ///< over (key tile, key head, batch), the last tile standing for the first keys
    MaskPolicy<int> mask;
    float scale;
    float scaleLog2;
    int queryHeads;
    int queryHeadsPerKeyHead;
    int queryTiles;
    int headDim; ///< of the tensors: at most the tile's
    BackwardWorkspace workspace;
};

/// Named barriers: 1 for all consumers, these for each.
__device__ inline int pieceWritten(int consumer)
{
    return 2 + consumer;
}
__device__ inline int pieceRead(int consumer)
{
    return 4 + consumer;
}
__device__ inline int gradientWritten(int consumer)
{
    return 6 + consumer;
}

} // namespace tilescope::kernels::hopper
