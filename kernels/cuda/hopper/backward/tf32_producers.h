#pragma once

#include "kernels/cuda/hopper/backward/tf32_tile.h"

/// The TF32 backward kernel's loads: two threads that do nothing else.
namespace tilescope::kernels::hopper {

/// One deals tiles and loads k and v.
template <class Tile>
__device__ void produceKeys(const Tf32BackwardMaps& maps, const BackwardArguments& arguments,
                            Tf32BackwardMemory<Tile>& shared)
{
    for (unsigned number = 0;; ++number) {
        const BackwardPlace& place = dealTile<Tile>(arguments, shared, number);
        if (place.keyTile < 0)
            break;
        const auto load = [&](const CUtensorMap& map, unsigned char* to, Barrier& full) {
            arriveExpecting(full, Tile::keyBytes);
            loadTile<Tile::panels, Tile::panelColumns>(map, to, full, Tile::keys, place.keyTile * Tile::keys,
                                                       place.keyHead, place.batch);
        };
        waitLong(shared.keyEmpty, (number & 1) ^ 1);
        load(maps.key, shared.key, shared.keyFull);
        load(maps.value, shared.scores[0], shared.valueFull);
    }
    returnTickets(*arguments.tickets, gridDim.x);
}

/// The other loads q with log-sum-exp, and gradO with delta.
template <class Tile>
__device__ void produceQueries(const Tf32BackwardMaps& maps, const BackwardArguments& arguments,
                               Tf32BackwardMemory<Tile>& shared)
{
    StepRing<Tile::stages> ring;
    awaitKernelBefore(); // log-sum-exp and delta
    for (unsigned number = 0;; ++number) {
        const auto placeRing = ringAt<kBackwardPlaces>(number);
        wait(shared.placeFull[placeRing.stage], placeRing.parity);
        const BackwardPlace& place = shared.place[placeRing.stage];
        if (place.keyTile < 0)
            break;
#pragma unroll 1
        for (QueryWalk walk(arguments, place); walk.more(); walk.advance()) {
            constexpr std::uint32_t kRowsBytes = Tile::queries * sizeof(float);
            const auto load = [&](const CUtensorMap& map, unsigned char* to, float* rowsTo, const float* rows,
                                  Barrier& full, Barrier& empty) {
                waitLong(empty, ring.parity() ^ 1);
                arriveExpecting(full, Tile::queryBytes + kRowsBytes);
                loadTile<Tile::panels, Tile::panelColumns>(
                    map, to, full, Tile::queries, walk.tile * Tile::queries,
                    place.keyHead * arguments.queryHeadsPerKeyHead + walk.member, place.batch);
                loadBytes(rowsTo, rows + std::int64_t{walk.index} * Tile::queries, kRowsBytes, full);
            };
            const int stage = ring.stage();
            load(maps.query, shared.query[stage], shared.logSumExp2[ring.longer],
                 arguments.workspace.logSumExp2, shared.queryFull[stage], shared.queryEmpty[stage]);
            load(maps.gradO, shared.gradO[stage], shared.delta[ring.longer], arguments.workspace.delta,
                 shared.gradFull[stage], shared.gradEmpty[stage]);
            ring.advance();
        }
        arrive(shared.tileLoaded);
        arrive(shared.placeEmpty[placeRing.stage]);
    }
}

} // namespace tilescope::kernels::hopper
