#pragma once

#include "kernels/cuda/hopper/forward/tile.h"

/// The producers of the forward kernels: two threads that issue all loads.
namespace tilescope::kernels::hopper {

template <class Tile> __device__ WorkTile workTileOf(const ForwardArguments& arguments, int tile)
{
    if (tile >= arguments.order.tiles)
        return {{}, kNoTile};
    const TileCoordinate at = arguments.order.position(tile);
    const int lastRow = min((at.queryTile + 1) * arguments.rowsPerHead, arguments.mask.queries) - 1;
    return {at, (arguments.mask.keysSeenBy(lastRow) + Tile::keys - 1) / Tile::keys};
}

/// Prefetches the first keys and values of a tile into L2.
template <class Tile>
__device__ void prefetch(const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                         const ForwardArguments& arguments, int tile)
{
    if (tile >= arguments.order.tiles)
        return;
    const TileCoordinate at = arguments.order.position(tile);
    const int head = at.head / arguments.tilesPerKeyHead;
    prefetchTile<Tile::panels, Tile::panelColumns>(keyMap, 0, head, at.batch);
    prefetchTile<Tile::panels, Tile::panelColumns>(valueMap, 0, head, at.batch);
}

/// One thread claims tiles, publishes them to the consumers and loads q and k.
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
        WorkTile& workTile =
            shared.workTile[queryRing.stage]; // kept in shared memory: a producer has few registers
        workTile = workTileOf<Tile>(arguments, tile);
        Barrier& full = shared.queryFull[queryRing.stage];
        if (workTile.keyTiles == kNoTile) {
            arrive(full);
            break;
        }
        arriveExpecting(full, Tile::queryBytes);
        loadTile<Tile::panels, Tile::panelColumns>(
            queryMap, shared.query[queryRing.stage], full, Tile::queries,
            workTile.at.queryTile * arguments.rowsPerHead, workTile.at.head * arguments.packedHeads,
            workTile.at.batch);
        queryRing.advance();
        const int keyHead = workTile.at.head / arguments.tilesPerKeyHead;
        // The next tile is claimed when this one is almost loaded, because the durations of causal tiles
        // differ. The claim overlaps with the load of one more key tile.
        int next = workTile.keyTiles == 0 ? claimTile(*arguments.scheduler) : 0;
#pragma unroll 1
        for (int keyTile = 0; keyTile < workTile.keyTiles; ++keyTile) {
            wait(shared.keyEmpty[ring.stage], ring.parity ^ 1);
            arriveExpecting(shared.keyFull[ring.stage], Tile::keyBytes);
            loadTile<Tile::panels, Tile::panelColumns>(keyMap, shared.key[ring.stage],
                                                       shared.keyFull[ring.stage], Tile::keys,
                                                       keyTile * Tile::keys, keyHead, workTile.at.batch);
            ring.advance();
            if (keyTile == max(workTile.keyTiles - 3, 0))
                next = claimTile(*arguments.scheduler);
            if (keyTile == max(workTile.keyTiles - 2, 0))
                prefetch<Tile>(keyMap, valueMap, arguments, next + gridDim.x);
        }
        tile = next + gridDim.x;
    }
    retireCta(*arguments.scheduler, gridDim.x);
}

/// A ring of buffers that TMA writes.
template <int Stages, int Bytes> struct Deliveries {
    unsigned char (&buffer)[Stages][Bytes];
    Barrier (&full)[Stages];
    Barrier (&empty)[Stages];
};

/// Another thread loads v, because k is needed a step earlier and must not wait for v.
template <class Tile, int Stages>
__device__ void produceValues(const CUtensorMap& valueMap, const ForwardArguments& arguments,
                              ForwardMemory<Tile>& shared, Deliveries<Stages, Tile::valueBytes> values)
{
    RingPosition<Stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    while (true) {
        wait(shared.queryFull[queryRing.stage], queryRing.parity);
        const WorkTile workTile = shared.workTile[queryRing.stage];
        if (workTile.keyTiles == kNoTile)
            break;
        arrive(shared.queryEmpty[queryRing.stage]);
        queryRing.advance();
        const int keyHead = workTile.at.head / arguments.tilesPerKeyHead;
#pragma unroll 1
        for (int keyTile = 0; keyTile < workTile.keyTiles; ++keyTile) {
            wait(values.empty[ring.stage], ring.parity ^ 1);
            arriveExpecting(values.full[ring.stage], Tile::valueBytes);
            if constexpr (Tile::valuesTransposed)
                loadBox(valueMap, values.buffer[ring.stage], values.full[ring.stage], keyTile * Tile::keys, 0,
                        keyHead, workTile.at.batch);
            else
                loadTile<Tile::panels, Tile::panelColumns>(valueMap, values.buffer[ring.stage],
                                                           values.full[ring.stage], Tile::keys,
                                                           keyTile * Tile::keys, keyHead, workTile.at.batch);
            ring.advance();
        }
    }
}

} // namespace tilescope::kernels::hopper
