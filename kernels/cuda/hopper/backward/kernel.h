#pragma once

#include "kernels/cuda/hopper/backward/consumer.h"
#include "kernels/cuda/hopper/backward/wide_consumers.h"

/// Attention backward on Hopper: gradQ, gradK, gradV for bf16 and fp16, any head dim.
///
/// With P = exp(scale q k^T - lse), dP = gradO v^T and dS = P (dP - delta) the gradients are gradV = P^T
/// gradO, gradK = scale dS^T q and gradQ = scale dS k: five products of 2 N^2 d operations, compared with two
/// in forward. Shared memory is the bound: products read their operands from it at 128 bytes per clock,
/// except for those in registers.
///
/// Design: a CTA owns 128 keys, 64 per consumer, and iterates over the query tiles that see them. Scores are
/// computed transposed, S^T = k q^T, so that registers hold P^T and dS^T as A operands of gradV and gradK.
/// Only dS goes through shared memory, for gradQ. TMA adds gradQ over the key tiles in global memory
/// (cp.reduce.async.bulk), in fp32 and in the order of the accumulator registers. (FlashAttention-2,
/// arXiv:2307.08691, section 3.1; FlashAttention-3, arXiv:2407.08608, appendix B.)
///
/// The kernel is persistent: CTAs claim tiles of keys, and load the next tile's k, q and gradO while they
/// store the gradients of this one. Head dims above 128 divide the work differently (wide_consumers.h).
///
///     barriers              filled by                        waited for by
///     workTileFull          producer of k                    all
///     workTileEmpty         store warps, producer of q       producer of k
///     tileLoaded            producer of q                    producer of k
///     keyFull, valueFull    TMA (k, v)                       consumers
///     keyEmpty              both store warps                 producer of k
///     valueEmpty            every consumer warp; in wide tiles both store warps
///     scoresEmpty           both store warps (gradV stored)  consumers
///     queryFull, gradFull   TMA (q + lse, gradO + delta)     consumers
///     queryEmpty, gradEmpty every consumer warp              producer of q
///     kConsumersBarrier     both consumers: dS is in shared memory; k and v are no longer read
///     pieceWritten/Read     a consumer and its store warp: gradQ
///     gradientsWritten      a consumer and its store warp: gradK and gradV at the end of a tile
namespace tilescope::kernels::hopper {

inline constexpr int kConsumers = kBackwardConsumers;
inline constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
inline constexpr int kProducerRegisters = 24; // 240 * 256 + 24 * 128 = 384 * 168, the initial registers
inline constexpr int kConsumerRegisters = 240;

struct BackwardMaps {
    CUtensorMap query, key, value, gradO, gradKey, gradValue;
};

// --- producers: one thread claims tiles and loads k and v, another loads q and gradO --------------

template <class Tile>
__device__ void produceKeys(const BackwardMaps& maps, const BackwardArguments& arguments,
                            BackwardShared<Tile>& shared)
{
    for (unsigned number = 0;; ++number) {
        const auto keyRing = ringAt<Tile::keyStages>(number);
        const auto valueRing = ringAt<Tile::valueStages>(number);
        const BackwardWorkTile& workTile = scheduleTile<Tile>(arguments, shared, number);
        if (workTile.keyTile < 0)
            break;
        const auto load = [&](const CUtensorMap& map, unsigned char* to, Barrier& full) {
            arriveExpecting(full, Tile::keyBytes);
            loadTile<Tile::panels>(map, to, full, Tile::keys, workTile.keyTile * Tile::keys, workTile.keyHead,
                                   workTile.batch);
        };
        waitLong(shared.keyEmpty[keyRing.stage], keyRing.parity ^ 1);
        load(maps.key, shared.key[keyRing.stage], shared.keyFull[keyRing.stage]);
        waitLong(shared.valueEmpty[valueRing.stage], valueRing.parity ^ 1);
        load(maps.value, shared.value[valueRing.stage], shared.valueFull[valueRing.stage]);
    }
    retireCta(*arguments.scheduler, gridDim.x);
}

template <class Tile>
__device__ void produceQueries(const BackwardMaps& maps, const BackwardArguments& arguments,
                               BackwardShared<Tile>& shared)
{
    typename Tile::QueryRing ring;
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
                waitLong(empty, ring.parity ^ 1);
                arriveExpecting(full, Tile::queryBytes + kRowsBytes);
                loadTile<Tile::panels>(map, to, full, Tile::queries, queryTile.tile * Tile::queries,
                                       workTile.keyHead * arguments.queryHeadsPerKeyHead + queryTile.member,
                                       workTile.batch);
                loadBytes(rowsTo, rows + std::int64_t{queryTile.index} * Tile::queries, kRowsBytes, full);
            };
            const int stage = ring.stage;
            load(maps.query, shared.query[stage], shared.logSumExp2[stage], arguments.workspace.logSumExp2,
                 shared.queryFull[stage], shared.queryEmpty[stage]);
            load(maps.gradO, shared.gradO[stage], shared.delta[stage], arguments.workspace.delta,
                 shared.gradFull[stage], shared.gradEmpty[stage]);
            ring.advance();
        }
        arrive(shared.tileLoaded);
        arrive(shared.workTileEmpty[workTileRing.stage]);
    }
}

// --- store warps: one per consumer writes its results to global memory ---------------------------

/// Adds a consumer's pieces of gradQ.
template <class Tile>
__device__ void addGradQueries(const BackwardArguments& arguments, const BackwardWorkTile& workTile,
                               BackwardShared<Tile>& shared, int consumer, bool leader)
{
    const GradQueryPiece piece = GradQueryPiece::of(consumer, arguments.headDim, Tile::queries);
    const std::uint32_t bytes = GradQueryPiece::kRows * piece.columns * sizeof(float);
    for (QueryTileIterator queryTile(arguments, workTile); queryTile.more(); queryTile.advance()) {
        namedWait(pieceWritten(consumer), kWithStoreWarp);
        if (leader) {
            unsigned* semaphore =
                arguments.workspace.semaphores ? arguments.workspace.semaphores + queryTile.index : nullptr;
            if (semaphore)
                waitForSemaphore(semaphore, workTile.keyTile * kConsumers + consumer);
            if (bytes > 0)
                addFloats(arguments.workspace.gradQuery +
                              std::int64_t{queryTile.index} * Tile::queries * arguments.headDim +
                              piece.offset(arguments.headDim),
                          shared.gradQuery[consumer], bytes);
            commitStores();
            if (semaphore) {
                waitStoresDone();
                __threadfence();
                atomicAdd(semaphore, 1U);
            } else {
                waitStoresRead();
            }
        }
        __syncwarp();
        namedArrive(pieceRead(consumer), kWithStoreWarp);
    }
}

template <class Tile>
__device__ void storeTile(const CUtensorMap& map, const unsigned char* tile, int row,
                          const BackwardWorkTile& workTile)
{
#pragma unroll
    for (int panel = 0; panel < Tile::panels; ++panel)
        storeBox(map, tile + panel * Tile::keys * kRowBytes, panel * kPanelColumns, row, workTile.keyHead,
                 workTile.batch);
}

template <class Tile>
__device__ void storeGradients(const BackwardMaps& maps, const BackwardArguments& arguments,
                               BackwardShared<Tile>& shared, int consumer)
{
    const bool leader = threadIdx.x % 32 == 0;
    waitForPreviousKernel();                          // zeroes the sums of gradQ
    namedArrive(pieceRead(consumer), kWithStoreWarp); // the buffer of gradQ is free
    for (unsigned number = 0;; ++number) {
        const auto workTileRing = ringAt<kWorkTileStages>(number);
        const int keyStage = ringAt<Tile::keyStages>(number).stage;
        wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
        const BackwardWorkTile& workTile = shared.workTile[workTileRing.stage];
        if (workTile.keyTile < 0)
            break;
        if constexpr (!Tile::wide)
            addGradQueries(arguments, workTile, shared, consumer, leader);
        namedWait(gradientsWritten(consumer), kWithStoreWarp);
        if (leader) {
            const int firstKey = workTile.keyTile * Tile::keys;
            if constexpr (Tile::wide) {
                consumer == 0 ? storeTile<Tile>(maps.gradValue, shared.value[0], firstKey, workTile)
                              : storeTile<Tile>(maps.gradKey, shared.key[0], firstKey, workTile);
            } else {
                const int row = consumer * kRowsPerConsumer;
                storeTile<Tile>(maps.gradKey, shared.key[keyStage] + row * kRowBytes, firstKey + row,
                                workTile);
                storeTile<Tile>(maps.gradValue, shared.gradScores[0] + row * kRowBytes, firstKey + row,
                                workTile);
            }
            commitStores();
            waitStoresRead();
            arrive(Tile::wide ? shared.valueEmpty[0] : shared.scoresEmpty);
            arrive(shared.keyEmpty[keyStage]);
            arrive(shared.workTileEmpty[workTileRing.stage]);
        }
        __syncwarp();
    }
    if (leader)
        waitStoresDone();
}

// --- kernel ---------------------------------------------------------------------------------------

/// The kernel, for one thread of a CTA.
template <class Tile, class Element>
__device__ void runBackward(const BackwardMaps& maps, const BackwardArguments& arguments,
                            BackwardShared<Tile>& shared)
{
    if (threadIdx.x == 0) {
        const auto init = [](Barrier* full, Barrier* empty, int stages, int readers) {
            for (int stage = 0; stage < stages; ++stage) {
                initBarrier(full[stage], 1);
                initBarrier(empty[stage], readers);
            }
        };
        initBarrier(shared.tileLoaded, 1);
        initBarrier(shared.scoresEmpty, kConsumers);
        init(shared.workTileFull, shared.workTileEmpty, kWorkTileStages, kConsumers + 1);
        init(shared.keyFull, shared.keyEmpty, Tile::keyStages, kConsumers);
        init(shared.valueFull, shared.valueEmpty, Tile::valueStages,
             Tile::wide ? kConsumers : kConsumers * 4);
        init(shared.queryFull, shared.queryEmpty, Tile::queryStages, kConsumers * 4);
        init(shared.gradFull, shared.gradEmpty, Tile::queryStages, kConsumers * 4);
        fenceBarrierInit();
    }
    __syncthreads();

    const int warp = threadIdx.x / 32;
    if (threadIdx.x < kWarpgroup) {
        releaseRegisters<kProducerRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(maps, arguments, shared);
        else if (threadIdx.x == 32 * 3)
            produceQueries<Tile>(maps, arguments, shared);
        else if (warp == 1 || warp == 2)
            storeGradients<Tile>(maps, arguments, shared, warp - 1);
    } else {
        acquireRegisters<kConsumerRegisters>();
        if constexpr (!Tile::wide)
            BackwardConsumer<Tile, Element>(arguments, shared).run();
        else if (warp < 8)
            BackwardValueConsumer<Tile, Element>(arguments, shared).run();
        else
            BackwardKeyConsumer<Tile, Element>(arguments, shared).run();
    }
}

} // namespace tilescope::kernels::hopper
