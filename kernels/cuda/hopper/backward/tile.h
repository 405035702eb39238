#pragma once

#include "kernels/cuda/common/tile_order.h"
#include "kernels/cuda/hopper/backward/passes.h"
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/tile_scheduler.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::hopper {

constexpr int kBackwardConsumers = 2;

/// Tile of the backward kernel. Up to head dim 128 each consumer owns 64 of 128 keys. gradK and gradV of 128
/// columns take 128 of its registers, which leaves registers for 64 rows of S and dP. Above, both consumers
/// share 64 keys: one owns gradV, the other gradK.
///
/// In 227 KiB of shared memory k has a second stage, and up to head dim 64 v too, for the next tile while the
/// gradients of this one are stored. Above head dim 128, q and gradO of 64 rows take 64 KiB, and there is no
/// space.
template <int HeadDim> struct BackwardTile {
    static constexpr int headDim = HeadDim;
    static constexpr bool wide = HeadDim > 128;
    static constexpr int keys = wide ? 64 : 128;
    static constexpr int queries = backwardQueries(ElementType::BFloat16, HeadDim);
    static constexpr int keyStages = wide ? 1 : 2;
    static constexpr int valueStages = HeadDim <= 64 ? 2 : 1;
    static constexpr int queryStages = 2; ///< of q, and of gradO
    static constexpr int panels = (HeadDim + kPanelColumns - 1) / kPanelColumns;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = keys * panels * kRowBytes;
    static constexpr int scoreBytes = keys * queries * 2;
    /// The part of gradQ that a consumer computes at a time. Wide tiles add it to global memory from
    /// registers.
    static constexpr int pieceFloats = wide ? 4 : 64 * 64;
    using QueryRing = RingPosition<queryStages>;
};

/// A tile of keys and the first query tile that sees any of them.
struct BackwardWorkTile {
    int keyTile; ///< -1: there are no more
    int keyHead;
    int batch;
    int firstQueryTile;
};

constexpr int kWorkTileStages = 2; ///< this tile and the next

/// Position of a CTA's tile number `tile` in a ring that advances once per tile.
template <int Stages> __device__ inline RingPosition<Stages> ringAt(unsigned tile)
{
    return {static_cast<int>(tile % Stages), tile / Stages & 1};
}

template <class Tile> struct BackwardShared {
    alignas(1024) unsigned char key[Tile::keyStages][Tile::keyBytes]; // also gradK, to be stored
    alignas(
        1024) unsigned char value[Tile::valueStages][Tile::keyBytes]; // wide tiles: also gradV, to be stored
    alignas(1024) unsigned char query[Tile::queryStages][Tile::queryBytes];
    alignas(1024) unsigned char gradO[Tile::queryStages][Tile::queryBytes];
    // dS^T: panels of 64 queries, rows of keys. At the end of a tile: gradV, to be stored. Wide tiles use the
    // first for dS^T and the second for P^T, thread by thread.
    alignas(1024) unsigned char gradScores[2][Tile::scoreBytes];
    alignas(128) float gradQuery[kBackwardConsumers][Tile::pieceFloats];
    alignas(16) float logSumExp2[Tile::queryStages][Tile::queries];
    alignas(16) float delta[Tile::queryStages][Tile::queries];
    BackwardWorkTile workTile[kWorkTileStages];
    Barrier workTileFull[kWorkTileStages], workTileEmpty[kWorkTileStages];
    Barrier tileLoaded; // the loads of the tile's last q and gradO are issued
    Barrier keyFull[Tile::keyStages], keyEmpty[Tile::keyStages];
    Barrier valueFull[Tile::valueStages], valueEmpty[Tile::valueStages];
    Barrier scoresEmpty; // gradV is stored
    Barrier queryFull[Tile::queryStages], queryEmpty[Tile::queryStages];
    Barrier gradFull[Tile::queryStages], gradEmpty[Tile::queryStages];
};

struct BackwardArguments {
    TileOrder order; ///< of (key tile, key head, batch); under a causal mask its last tile is the first keys
    MaskPolicy<int> mask;
    float scale;
    float scaleLog2;
    int queryHeads;
    int queryHeadsPerKeyHead;
    int queryTiles;
    int headDim; ///< of the tensors: at most the tile's
    BackwardWorkspace workspace;
    TileScheduler* scheduler;
};

/// All arguments except the scheduler.
/// \param cacheBytes  as in TileOrder, for q, gradO and gradQ
template <class Tile>
BackwardArguments backwardArguments(const AttentionProblem& problem, const BackwardWorkspace& workspace,
                                    std::int64_t cacheBytes)
{
    const AttentionShape& shape = problem.shape;
    constexpr double kLog2E = 1.4426950408889634;
    const int elementBytes = problem.type == ElementType::Float32 ? 4 : 2;
    // q and gradO, and gradQ in fp32.
    const std::int64_t bytesPerHead = (2 * elementBytes + 4) * shape.queries * shape.headDim;
    return {.order = TileOrder::make(static_cast<int>((shape.keys + Tile::keys - 1) / Tile::keys),
                                     static_cast<int>(shape.keyHeads), static_cast<int>(shape.batch),
                                     problem.causal, bytesPerHead, cacheBytes),
            .mask = {static_cast<int>(shape.queries), static_cast<int>(shape.keys), problem.causal},
            .scale = static_cast<float>(problem.scale),
            .scaleLog2 = static_cast<float>(problem.scale * kLog2E),
            .queryHeads = static_cast<int>(shape.queryHeads),
            .queryHeadsPerKeyHead = static_cast<int>(shape.queryHeads / shape.keyHeads),
            .queryTiles = workspace.paddedRows / Tile::queries,
            .headDim = shape.headDim,
            .workspace = workspace,
            .scheduler = nullptr};
}

/// Tile number `tile` of the order.
template <class Tile>
__device__ inline BackwardWorkTile workTileOf(const BackwardArguments& arguments, int tile)
{
    const TileCoordinate at = arguments.order.position(tile);
    const int keyTiles = arguments.order.queryTiles;
    const int keyTile = arguments.mask.causal ? keyTiles - 1 - at.queryTile : at.queryTile;
    return {keyTile, at.head, at.batch, arguments.mask.firstQueryOf(keyTile * Tile::keys) / Tile::queries};
}

/// Claims tile number `number` of a CTA and publishes it; a negative keyTile means that there are no more.
/// Waits until the current tile is loaded, because the durations of causal tiles differ.
template <class Tile, class Shared>
__device__ inline const BackwardWorkTile& scheduleTile(const BackwardArguments& arguments, Shared& shared,
                                                       unsigned number)
{
    const auto workTileRing = ringAt<kWorkTileStages>(number);
    if (number > 0)
        waitLong(shared.tileLoaded, (number - 1) & 1);
    const int tile = claimTile(*arguments.scheduler);
    BackwardWorkTile& workTile = shared.workTile[workTileRing.stage];
    waitLong(shared.workTileEmpty[workTileRing.stage], workTileRing.parity ^ 1);
    workTile.keyTile = -1;
    if (tile < arguments.order.tiles)
        workTile = workTileOf<Tile>(arguments, tile);
    arrive(shared.workTileFull[workTileRing.stage]);
    return workTile;
}

/// Iterates over the query tiles that see a tile of keys, in each head of the group.
struct QueryTileIterator {
    int tile;       ///< in its head
    int index;      ///< of the tile among those of all heads
    int member = 0; ///< head of the group
    int members;
    int first;
    int queryTiles;

    __device__ QueryTileIterator(const BackwardArguments& arguments, const BackwardWorkTile& workTile)
        : tile(workTile.firstQueryTile), members(arguments.queryHeadsPerKeyHead), first(tile),
          queryTiles(arguments.queryTiles)
    {
        index = (workTile.batch * arguments.queryHeads + workTile.keyHead * members) * queryTiles + first;
        if (first >= queryTiles)
            members = 0;
    }
    __device__ bool more() const { return member < members; }
    __device__ void advance()
    {
        ++index;
        if (++tile == queryTiles) {
            tile = first;
            index += first;
            ++member;
        }
    }
};

/// Named barriers: all consumers; in wide tiles, P^T is written, dS^T is written.
constexpr int kConsumersBarrier = 1, kWeightsWritten = 2, kScoresWritten = 3;
/// Named barriers of each consumer: its own, and those with its store warp.
__device__ inline int consumerBarrier(int consumer)
{
    return 8 + consumer;
}
__device__ inline int pieceWritten(int consumer)
{
    return 4 + consumer;
}
__device__ inline int pieceRead(int consumer)
{
    return 6 + consumer;
}
__device__ inline int gradientsWritten(int consumer)
{
    return 10 + consumer;
}

} // namespace tilescope::kernels::hopper
