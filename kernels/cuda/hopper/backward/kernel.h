#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/hopper/backward/backward.h"
#include "kernels/cuda/hopper/backward/consumer.h"
#include "kernels/cuda/hopper/backward/wide_consumers.h"
#include "kernels/cuda/hopper/common/tensor_map.h"

#include <algorithm>

/// Attention backward on Hopper: gradQ, gradK, gradV for bf16 and fp16, any head dim.
///
/// With P = exp(scale q k^T - lse), dP = gradO v^T and dS = P (dP - delta) the gradients are gradV = P^T
/// gradO, gradK = scale dS^T q, gradQ = scale dS k: five products of 2 N^2 d operations, ten units of
/// forward's four. Shared memory is the bound: each product streams its operands from there at 128 bytes a
/// clock, and only what stays in registers is free of it.
///
/// How: a CTA owns 128 keys, 64 a consumer, and walks over the query tiles that see them. Scores are computed
/// transposed, S^T = k q^T, so that P^T and dS^T are in registers exactly as gradV and gradK want their A
/// operand; only dS passes through shared memory, for gradQ, whose sum over the key tiles is made in global
/// memory by the copy engine (cp.reduce.async.bulk), in fp32 and in the order of the accumulator registers.
/// (FlashAttention-2, arXiv:2307.08691, section 3.1; FlashAttention-3, arXiv:2407.08608, appendix B.)
///
/// CTAs stay on the device and draw tiles of keys: the next one's k, q and gradO come in while the gradients
/// of this one go out. Head dims above 128 differ in who does what (wide_consumers.h).
///
///     barriers             filled by                 waited for by
///     placeFull            producer of k             everyone
///     placeEmpty           carriers, producer of q   producer of k
///     tileLoaded           producer of q             producer of k
///     keyFull, valueFull   TMA (k, v)                consumers
///     keyEmpty, valueEmpty both carriers, consumers  producer of k
///     scoresEmpty          both carriers (gradV has left)  consumers
///     queryFull, gradFull  TMA (q + lse, gradO + delta)  consumers
///     queryEmpty, gradEmpty every consumer warp      producer of q
///     kConsumersMeet       dS of both is in shared memory; both are done with k and v
///     pieceWritten/Read    a consumer and its carrier hand over gradQ
///     gradientsWritten     and at a tile's end gradK and gradV
namespace tilescope::kernels::hopper {

inline constexpr int kConsumers = kBackwardConsumers;
inline constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
inline constexpr int kProducerRegisters = 24; // 240 * 256 + 24 * 128 is what 384 threads of 168 start with
inline constexpr int kConsumerRegisters = 240;

struct BackwardMaps {
    CUtensorMap query, key, value, gradO, gradKey, gradValue;
};

// --- producers: one thread deals tiles and loads k and v, another loads q and gradO ---------------

template <class Tile>
__device__ void produceKeys(const BackwardMaps& maps, const BackwardArguments& arguments,
                            BackwardShared<Tile>& shared)
{
    for (unsigned number = 0;; ++number) {
        const auto keyRing = ringAt<Tile::keyStages>(number);
        const auto valueRing = ringAt<Tile::valueStages>(number);
        const BackwardPlace& place = dealTile<Tile>(arguments, shared, number);
        if (place.keyTile < 0)
            break;
        const auto load = [&](const CUtensorMap& map, unsigned char* to, Barrier& full) {
            arriveExpecting(full, Tile::keyBytes);
            loadTile<Tile::panels>(map, to, full, Tile::keys, place.keyTile * Tile::keys, place.keyHead,
                                   place.batch);
        };
        waitLong(shared.keyEmpty[keyRing.stage], keyRing.parity ^ 1);
        load(maps.key, shared.key[keyRing.stage], shared.keyFull[keyRing.stage]);
        waitLong(shared.valueEmpty[valueRing.stage], valueRing.parity ^ 1);
        load(maps.value, shared.value[valueRing.stage], shared.valueFull[valueRing.stage]);
    }
    returnTickets(*arguments.tickets, gridDim.x);
}

template <class Tile>
__device__ void produceQueries(const BackwardMaps& maps, const BackwardArguments& arguments,
                               BackwardShared<Tile>& shared)
{
    typename Tile::QueryRing ring;
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
                waitLong(empty, ring.parity ^ 1);
                arriveExpecting(full, Tile::queryBytes + kRowsBytes);
                loadTile<Tile::panels>(map, to, full, Tile::queries, walk.tile * Tile::queries,
                                       place.keyHead * arguments.queryHeadsPerKeyHead + walk.member,
                                       place.batch);
                loadBytes(rowsTo, rows + std::int64_t{walk.index} * Tile::queries, kRowsBytes, full);
            };
            const int stage = ring.stage;
            load(maps.query, shared.query[stage], shared.logSumExp2[stage], arguments.workspace.logSumExp2,
                 shared.queryFull[stage], shared.queryEmpty[stage]);
            load(maps.gradO, shared.gradO[stage], shared.delta[stage], arguments.workspace.delta,
                 shared.gradFull[stage], shared.gradEmpty[stage]);
            ring.advance();
        }
        arrive(shared.tileLoaded);
        arrive(shared.placeEmpty[placeRing.stage]);
    }
}

// --- carriers: a warp for each consumer takes what it made to global memory ----------------------

/// Adds a consumer's pieces of gradQ.
template <class Tile>
__device__ void addGradQueries(const BackwardArguments& arguments, const BackwardPlace& place,
                               BackwardShared<Tile>& shared, int consumer, bool leader)
{
    const GradQueryPiece piece = GradQueryPiece::of(consumer, arguments.headDim, Tile::queries);
    const std::uint32_t bytes = GradQueryPiece::kRows * piece.columns * sizeof(float);
    for (QueryWalk walk(arguments, place); walk.more(); walk.advance()) {
        namedWait(pieceWritten(consumer), kWithCarrier);
        if (leader) {
            unsigned* turn = arguments.workspace.turns ? arguments.workspace.turns + walk.index : nullptr;
            if (turn)
                awaitTurn(turn, place.keyTile * kConsumers + consumer);
            if (bytes > 0)
                addFloats(arguments.workspace.gradQuery +
                              std::int64_t{walk.index} * Tile::queries * arguments.headDim +
                              piece.offset(arguments.headDim),
                          shared.gradQuery[consumer], bytes);
            commitStores();
            if (turn) {
                waitStoresDone();
                __threadfence();
                atomicAdd(turn, 1U);
            } else {
                waitStoresRead();
            }
        }
        __syncwarp();
        namedArrive(pieceRead(consumer), kWithCarrier);
    }
}

template <class Tile>
__device__ void storeTile(const CUtensorMap& map, const unsigned char* tile, int row,
                          const BackwardPlace& place)
{
#pragma unroll
    for (int panel = 0; panel < Tile::panels; ++panel)
        storeBox(map, tile + panel * Tile::keys * kRowBytes, panel * kPanelColumns, row, place.keyHead,
                 place.batch);
}

template <class Tile>
__device__ void carry(const BackwardMaps& maps, const BackwardArguments& arguments,
                      BackwardShared<Tile>& shared, int consumer)
{
    const bool leader = threadIdx.x % 32 == 0;
    awaitKernelBefore();                            // zeros to add to
    namedArrive(pieceRead(consumer), kWithCarrier); // the place for the first piece is free
    for (unsigned number = 0;; ++number) {
        const auto placeRing = ringAt<kBackwardPlaces>(number);
        const int keyStage = ringAt<Tile::keyStages>(number).stage;
        wait(shared.placeFull[placeRing.stage], placeRing.parity);
        const BackwardPlace& place = shared.place[placeRing.stage];
        if (place.keyTile < 0)
            break;
        if constexpr (!Tile::wide)
            addGradQueries(arguments, place, shared, consumer, leader);
        namedWait(gradientsWritten(consumer), kWithCarrier);
        if (leader) {
            const int firstKey = place.keyTile * Tile::keys;
            if constexpr (Tile::wide) {
                consumer == 0 ? storeTile<Tile>(maps.gradValue, shared.value[0], firstKey, place)
                              : storeTile<Tile>(maps.gradKey, shared.key[0], firstKey, place);
            } else {
                const int row = consumer * kRowsPerConsumer;
                storeTile<Tile>(maps.gradKey, shared.key[keyStage] + row * kRowBytes, firstKey + row, place);
                storeTile<Tile>(maps.gradValue, shared.gradScores[0] + row * kRowBytes, firstKey + row,
                                place);
            }
            commitStores();
            waitStoresRead();
            arrive(Tile::wide ? shared.valueEmpty[0] : shared.scoresEmpty);
            arrive(shared.keyEmpty[keyStage]);
            arrive(shared.placeEmpty[placeRing.stage]);
        }
        __syncwarp();
    }
    if (leader)
        waitStoresDone();
}

// --- kernel and launcher -------------------------------------------------------------------------

template <class Tile, class Element>
__global__ void __launch_bounds__(kThreads, 1)
    attentionBackward(const __grid_constant__ BackwardMaps maps,
                      const __grid_constant__ BackwardArguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    auto& shared = *reinterpret_cast<BackwardShared<Tile>*>(raw);
    if (threadIdx.x == 0) {
        const auto init = [](Barrier* full, Barrier* empty, int stages, int readers) {
            for (int stage = 0; stage < stages; ++stage) {
                initBarrier(full[stage], 1);
                initBarrier(empty[stage], readers);
            }
        };
        initBarrier(shared.tileLoaded, 1);
        initBarrier(shared.scoresEmpty, kConsumers);
        init(shared.placeFull, shared.placeEmpty, kBackwardPlaces, kConsumers + 1);
        init(shared.keyFull, shared.keyEmpty, Tile::keyStages, kConsumers);
        init(shared.valueFull, shared.valueEmpty, Tile::valueStages, kConsumers);
        init(shared.queryFull, shared.queryEmpty, Tile::queryStages, kConsumers * 4);
        init(shared.gradFull, shared.gradEmpty, Tile::queryStages, kConsumers * 4);
        fenceBarrierInit();
    }
    __syncthreads();

    const int warp = threadIdx.x / 32;
    if (threadIdx.x < kWarpgroup) {
        giveRegisters<kProducerRegisters>();
        if (threadIdx.x == 0)
            produceKeys<Tile>(maps, arguments, shared);
        else if (threadIdx.x == 32 * 3)
            produceQueries<Tile>(maps, arguments, shared);
        else if (warp == 1 || warp == 2)
            carry<Tile>(maps, arguments, shared, warp - 1);
    } else {
        takeRegisters<kConsumerRegisters>();
        if constexpr (!Tile::wide)
            BackwardConsumer<Tile, Element>(arguments, shared).run();
        else if (warp < 8)
            BackwardValueConsumer<Tile, Element>(arguments, shared).run();
        else
            BackwardKeyConsumer<Tile, Element>(arguments, shared).run();
    }
}

template <int HeadDim, class Element>
cudaError_t launch(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    using T = BackwardTile<HeadDim>;
    const AttentionShape& shape = problem.shape;
    const BackwardWorkspace workspace = BackwardWorkspace::at(tensors.workspace, problem);
    if (const cudaError_t error = prepareBackward(problem, tensors, workspace, stream); error != cudaSuccess)
        return error;
    const auto map = [&](const auto& view, std::int64_t heads, std::int64_t rows, int boxRows) {
        return tensorMap(problem.type, const_cast<void*>(static_cast<const void*>(view.data)), shape.headDim,
                         rows, heads, shape.batch, view.rowStride, view.headStride, view.batchStride,
                         boxRows);
    };
    const BackwardMaps maps{
        .query = map(tensors.q, shape.queryHeads, shape.queries, T::queries),
        .key = map(tensors.k, shape.keyHeads, shape.keys, T::keys),
        .value = map(tensors.v, shape.keyHeads, shape.keys, T::keys),
        .gradO = map(tensors.gradO, shape.queryHeads, shape.queries, T::queries),
        .gradKey = map(tensors.gradK, shape.keyHeads, shape.keys, kRowsPerConsumer),
        .gradValue = map(tensors.gradV, shape.keyHeads, shape.keys, kRowsPerConsumer),
    };

    BackwardArguments arguments =
        backwardArguments<T>(problem, workspace, std::int64_t{shape.queries <= 512 ? 16 : 32} << 20);
    arguments.tickets = nextTickets();
    constexpr auto kernel = attentionBackward<T, Element>;
    constexpr int bytes = sizeof(BackwardShared<T>);
    if (const cudaError_t error = allowSharedMemory<kernel>(bytes); error != cudaSuccess)
        return error;
    const int grid = std::min(arguments.order.tiles, currentDeviceFacts().multiprocessors);
    if (const cudaError_t error =
            launchAfter(kernel, static_cast<unsigned>(grid), kThreads, bytes, stream, maps, arguments);
        error != cudaSuccess)
        return error;
    return finishBackward(problem, tensors, workspace, stream);
}

/// Above head dim 128 (backward_wide.cu).
cudaError_t launchWide(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream);

template <int HeadDim>
cudaError_t launchFor(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return problem.type == ElementType::BFloat16 ? launch<HeadDim, __nv_bfloat16>(problem, tensors, stream)
                                                 : launch<HeadDim, __half>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
