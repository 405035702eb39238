#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

/// The forward kernel's loads: two threads that do nothing else.
namespace tilescope::kernels::hopper {

template <class Tile> __device__ Place placeOf(const ForwardArguments& arguments, int tile)
{
    if (tile >= arguments.order.tiles)
        return {{}, kNoTile};
    const TilePosition at = arguments.order.position(tile);
    const int lastRow = min((at.queryTile + 1) * arguments.rowsPerHead, arguments.mask.queries) - 1;
    return {at, (arguments.mask.keysSeenBy(lastRow) + Tile::keys - 1) / Tile::keys};
}

/// Has the first keys and values of a tile brought from memory to the cache.
template <class Tile>
__device__ void prefetch(const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                         const ForwardArguments& arguments, int tile)
{
    if (tile >= arguments.order.tiles)
        return;
    const TilePosition at = arguments.order.position(tile);
    const int head = at.head / arguments.tilesPerKeyHead;
    prefetchTile<Tile::panels, Tile::panelColumns>(keyMap, 0, head, at.batch);
    prefetchTile<Tile::panels, Tile::panelColumns>(valueMap, 0, head, at.batch);
}

/// One thread draws the tiles, announces them and loads q and k.
template <class Tile>
__device__ void produceKeys(const CUtensorMap& queryMap, const CUtensorMap& keyMap,
                            const CUtensorMap& valueMap, const ForwardArguments& arguments,
                            ForwardMemory<Tile>& shared)
{
    RingPosition<Tile::stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    int tile = blockIdx.x;
    while (true) {
        wait(shared.queryEmpty[queryRing.stage], queryRing.parity ^ 1);
        Place& place = shared.place[queryRing.stage]; // stays there: a producer has few registers
        place = placeOf<Tile>(arguments, tile);
        Barrier& announced = shared.queryFull[queryRing.stage];
        if (place.keyTiles == kNoTile) {
            arrive(announced);
            break;
        }
        arriveExpecting(announced, Tile::queryBytes);
        loadTile<Tile::panels, Tile::panelColumns>(queryMap, shared.query[queryRing.stage], announced,
                                                   Tile::queries, place.at.queryTile * arguments.rowsPerHead,
                                                   place.at.head * arguments.packedHeads, place.at.batch);
        queryRing.advance();
        const int keyHead = place.at.head / arguments.tilesPerKeyHead;
        // Not before this tile is almost loaded: who is first takes the next one, and causal tiles differ.
        // Its number is under way while one more of the keys is.
        int next = place.keyTiles == 0 ? drawTicket(*arguments.tickets) : 0;
#pragma unroll 1
        for (int keyTile = 0; keyTile < place.keyTiles; ++keyTile) {
            wait(shared.keyEmpty[ring.stage], ring.parity ^ 1);
            arriveExpecting(shared.keyFull[ring.stage], Tile::keyBytes);
            loadTile<Tile::panels, Tile::panelColumns>(keyMap, shared.key[ring.stage],
                                                       shared.keyFull[ring.stage], Tile::keys,
                                                       keyTile * Tile::keys, keyHead, place.at.batch);
            ring.advance();
            if (keyTile == max(place.keyTiles - 3, 0))
                next = drawTicket(*arguments.tickets);
            if (keyTile == max(place.keyTiles - 2, 0))
                prefetch<Tile>(keyMap, valueMap, arguments, next + gridDim.x);
        }
        tile = next + gridDim.x;
    }
    returnTickets(*arguments.tickets, gridDim.x);
}

/// A ring of places that the copy engine delivers to.
template <int Stages, int Bytes> struct Deliveries {
    unsigned char (&place)[Stages][Bytes];
    Barrier (&full)[Stages];
    Barrier (&empty)[Stages];
};

/// Another loads v: k is wanted a step earlier, and must not wait for it.
template <class Tile, int Stages>
__device__ void produceValues(const CUtensorMap& valueMap, const ForwardArguments& arguments,
                              ForwardMemory<Tile>& shared, Deliveries<Stages, Tile::keyBytes> values)
{
    RingPosition<Stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    while (true) {
        wait(shared.queryFull[queryRing.stage], queryRing.parity);
        const Place place = shared.place[queryRing.stage];
        if (place.keyTiles == kNoTile)
            break;
        arrive(shared.queryEmpty[queryRing.stage]);
        queryRing.advance();
        const int keyHead = place.at.head / arguments.tilesPerKeyHead;
#pragma unroll 1
        for (int keyTile = 0; keyTile < place.keyTiles; ++keyTile) {
            wait(values.empty[ring.stage], ring.parity ^ 1);
            arriveExpecting(values.full[ring.stage], Tile::keyBytes);
            loadTile<Tile::panels, Tile::panelColumns>(valueMap, values.place[ring.stage],
                                                       values.full[ring.stage], Tile::keys,
                                                       keyTile * Tile::keys, keyHead, place.at.batch);
            ring.advance();
        }
    }
}

} // namespace tilescope::kernels::hopper
