#pragma once

#include "kernels/cuda/common/tile_order.h"
#include "kernels/cuda/hopper/backward/passes.h"
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/tile_scheduler.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::hopper {

constexpr int kBackwardConsumers = 2;

/// What the backward kernel takes at a time. Up to head dim 128 each consumer owns 64 of 128 keys, and gradK
/// and gradV of 128 columns take 128 of its registers, which leaves room for 64 rows of S and dP. Above, both
/// consumers share 64 keys: one owns gradV, the other gradK.
///
/// Of shared memory's 227 KiB: k (v too, up to head dim 64) has room for the next tile's while the gradients
/// of this one leave; above head dim 128, q and gradO of 64 rows take 64 KiB and there is none.
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
    /// Of gradQ: what one consumer computes at a time. Wide tiles add it to global memory from registers.
    static constexpr int pieceFloats = wide ? 4 : 64 * 64;
    using QueryRing = RingPosition<queryStages>;
};

/// A tile of keys and the queries that see any of it.
struct BackwardPlace {
    int keyTile; ///< -1: there are no more
    int keyHead;
    int batch;
    int firstQueryTile;
};

constexpr int kBackwardPlaces = 2; ///< this tile's and the next one's

/// Where tile number `tile` of a CTA finds its place, k or v: the rings that move on once a tile.
template <int Stages> __device__ inline RingPosition<Stages> ringAt(unsigned tile)
{
    return {static_cast<int>(tile % Stages), tile / Stages & 1};
}

template <class Tile> struct BackwardShared {
    alignas(1024) unsigned char key[Tile::keyStages][Tile::keyBytes]; // gradK leaves through here
    alignas(
        1024) unsigned char value[Tile::valueStages][Tile::keyBytes]; // wide tiles: and gradV through here
    alignas(1024) unsigned char query[Tile::queryStages][Tile::queryBytes];
    alignas(1024) unsigned char gradO[Tile::queryStages][Tile::queryBytes];
    // dS^T: panels of 64 queries, rows of keys; at a tile's end gradV leaves through here. Wide tiles keep it
    // in the first, and P^T, thread by thread, in the second.
    alignas(1024) unsigned char gradScores[2][Tile::scoreBytes];
    alignas(128) float gradQuery[kBackwardConsumers][Tile::pieceFloats];
    alignas(16) float logSumExp2[Tile::queryStages][Tile::queries];
    alignas(16) float delta[Tile::queryStages][Tile::queries];
    BackwardPlace place[kBackwardPlaces];
    Barrier placeFull[kBackwardPlaces], placeEmpty[kBackwardPlaces];
    Barrier tileLoaded; // the last q and gradO of a tile are on their way
    Barrier keyFull[Tile::keyStages], keyEmpty[Tile::keyStages];
    Barrier valueFull[Tile::valueStages], valueEmpty[Tile::valueStages];
    Barrier scoresEmpty; // gradV has left
    Barrier queryFull[Tile::queryStages], queryEmpty[Tile::queryStages];
    Barrier gradFull[Tile::queryStages], gradEmpty[Tile::queryStages];
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
    TileTickets* tickets;
};

/// All but the tickets.
/// \param cacheBytes  TileOrder's: of q, gradO and gradQ here
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
            .tickets = nullptr};
}

/// Where tile number `tile` of the order lies.
template <class Tile> __device__ inline BackwardPlace placeOf(const BackwardArguments& arguments, int tile)
{
    const TilePosition at = arguments.order.position(tile);
    const int keyTiles = arguments.order.queryTiles;
    const int keyTile = arguments.mask.causal ? keyTiles - 1 - at.queryTile : at.queryTile;
    return {keyTile, at.head, at.batch, arguments.mask.firstQueryOf(keyTile * Tile::keys) / Tile::queries};
}

/// Draws tile number `number` of a CTA and announces it; with a negative keyTile there are no more. Not
/// before the tile at work is almost done: who is first takes the next one, and causal tiles differ.
template <class Tile, class Shared>
__device__ inline const BackwardPlace& dealTile(const BackwardArguments& arguments, Shared& shared,
                                                unsigned number)
{
    const auto placeRing = ringAt<kBackwardPlaces>(number);
    if (number > 0)
        waitLong(shared.tileLoaded, (number - 1) & 1);
    const int ticket = drawTicket(*arguments.tickets);
    BackwardPlace& place = shared.place[placeRing.stage];
    waitLong(shared.placeEmpty[placeRing.stage], placeRing.parity ^ 1);
    place.keyTile = -1;
    if (ticket < arguments.order.tiles)
        place = placeOf<Tile>(arguments, ticket);
    arrive(shared.placeFull[placeRing.stage]);
    return place;
}

/// Goes through the query tiles that a tile of keys meets: those that see it, in each head of the group.
struct QueryWalk {
    int tile;       ///< in its head
    int index;      ///< of the tile among those of all heads
    int member = 0; ///< which head of the group
    int members;
    int first;
    int queryTiles;

    __device__ QueryWalk(const BackwardArguments& arguments, const BackwardPlace& place)
        : tile(place.firstQueryTile), members(arguments.queryHeadsPerKeyHead), first(tile),
          queryTiles(arguments.queryTiles)
    {
        index = (place.batch * arguments.queryHeads + place.keyHead * members) * queryTiles + first;
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

/// Named barriers: all consumers; of wide tiles, P^T is there, dS^T is there.
constexpr int kConsumersMeet = 1, kWeightsWritten = 2, kScoresWritten = 3;
/// And these for each consumer: its own, and with the warp that carries what it made to global memory.
__device__ inline int consumerMeets(int consumer)
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
