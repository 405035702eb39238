#pragma once

#include "kernels/cuda/hopper/backward/tf32_tile.h"

/// The producers of the TF32 backward kernel: two threads that issue all loads.
namespace tilescope::kernels::hopper {

/// One thread claims tiles and loads k and v.
template <class Tile>
__device__ void produceKeys(const Tf32BackwardMaps& maps, const BackwardArguments& arguments,
                            Tf32BackwardMemory<Tile>& shared)
{
    for (unsigned number = 0;; ++number) {
        const BackwardWorkTile& workTile = scheduleTile<Tile>(arguments, shared, number);
        if (workTile.keyTile < 0)
            break;
        const auto load = [&](const CUtensorMap& map, unsigned char* to, Barrier& full) {
            arriveExpecting(full, Tile::keyBytes);
            loadTile<Tile::panels, Tile::panelColumns>(
                map, to, full, Tile::keys, workTile.keyTile * Tile::keys, workTile.keyHead, workTile.batch);
        };
        waitLong(shared.keyEmpty, (number & 1) ^ 1);
        load(maps.key, shared.key, shared.keyFull);
        load(maps.value, shared.scores[0], shared.valueFull);
    }
    retireCta(*arguments.scheduler, gridDim.x);
}

/// The other thread loads q with log-sum-exp, and gradO with delta.
template <class Tile>
__device__ void produceQueries(const Tf32BackwardMaps& maps, const BackwardArguments& arguments,
                               Tf32BackwardMemory<Tile>& shared)
{
    StepRing<Tile::stages> ring;
    waitForPreviousKernel(); // log-sum-exp and delta
    for (unsigned number = 0;; ++number) {
        const auto workTileRing = ringAt<kWorkTileStages>(number);
        wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
        const BackwardWorkTile& workTile = shared.workTile[workTileRing.stage];
        if (workTile.keyTile < 0)
            break;
#pragma unroll 1
        for (QueryTileIterator queryTile(arguments, workTile); queryTile.more(); queryTile.advance()) {
            constexpr std::uint32_t kRowsBytes = Tile::queries * sizeof(float);
            const auto load = [&](const CUtensorMap& map, unsigned char* to, float* rowsTo, const float* rows,
                                  Barrier& full, Barrier& empty) {
                waitLong(empty, ring.parity() ^ 1);
                arriveExpecting(full, Tile::queryBytes + kRowsBytes);
                loadTile<Tile::panels, Tile::panelColumns>(
                    map, to, full, Tile::queries, queryTile.tile * Tile::queries,
                    workTile.keyHead * arguments.queryHeadsPerKeyHead + queryTile.member, workTile.batch);
                loadBytes(rowsTo, rows + std::int64_t{queryTile.index} * Tile::queries, kRowsBytes, full);
            };
            const int stage = ring.stage();
            load(maps.query, shared.query[stage], shared.logSumExp2[ring.longer],
                 arguments.workspace.logSumExp2, shared.queryFull[stage], shared.queryEmpty[stage]);
            load(maps.gradO, shared.gradO[stage], shared.delta[ring.longer], arguments.workspace.delta,
                 shared.gradFull[stage], shared.gradEmpty[stage]);
            ring.advance();
        }
        arrive(shared.tileLoaded);
        arrive(shared.workTileEmpty[workTileRing.stage]);
    }
}

} // namespace tilescope::kernels::hopper
