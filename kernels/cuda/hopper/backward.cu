/// Attention backward on Hopper: gradQ, gradK, gradV for bf16 and fp16, head dims up to 128.
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
///     barriers            filled by              waited for by
///     keysFull            TMA (k, v; once)       consumers
///     queryFull/gradFull  TMA (q+lse, gradO+delta) consumers
///     queryEmpty/gradEmpty every consumer warp   producer
///     named 1             dS of both consumers is in shared memory
///     named 2+c, 4+c      piece c of gradQ is written / has been read: consumer c and its adding warp
#include "kernels/cuda/hopper/backward.h"

#include "kernels/cuda/hopper/backward_passes.h"
#include "kernels/cuda/hopper/tensor_map.h"
#include "kernels/cuda/hopper/tile_order.h"
#include "kernels/cuda/hopper/wgmma.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::hopper {
namespace {

constexpr int kPanelColumns = 64;
constexpr int kRowBytes = 2 * kPanelColumns;
constexpr int kStages = 2;
constexpr int kKeys = 128;
constexpr int kConsumers = 2;
constexpr int kRowsPerConsumer = 64;
constexpr int kWarpgroup = 128;
constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
constexpr int kProducerRegisters = 24; // 240 * 256 + 24 * 128 is what 384 threads of 168 start with
constexpr int kConsumerRegisters = 240;
constexpr int kPieceFloats = 64 * 64;

/// Query rows at a time: gradK and gradV take 128 registers at head dim 128, which leaves room for 64 rows of
/// S and dP.
template <int HeadDim> struct Tile {
    static constexpr int headDim = HeadDim;
    static constexpr int queries = HeadDim <= 64 ? 128 : 64;
    static constexpr int panels = (HeadDim + kPanelColumns - 1) / kPanelColumns;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = kKeys * panels * kRowBytes;
    static constexpr int scoreBytes = kKeys * queries * 2;
};

template <class Tile> struct SharedMemory {
    alignas(1024) unsigned char key[Tile::keyBytes];   // gradK leaves through here
    alignas(1024) unsigned char value[Tile::keyBytes]; // and gradV through here
    alignas(1024) unsigned char query[kStages][Tile::queryBytes];
    alignas(1024) unsigned char gradO[kStages][Tile::queryBytes];
    alignas(1024) unsigned char gradScores[kStages]
                                          [Tile::scoreBytes]; // dS^T: panels of 64 queries, 128 rows of keys
    alignas(128) float gradQuery[kConsumers][kPieceFloats];
    alignas(16) float logSumExp2[kStages][Tile::queries];
    alignas(16) float delta[kStages][Tile::queries];
    Barrier keysFull;
    Barrier queryFull[kStages], queryEmpty[kStages];
    Barrier gradFull[kStages], gradEmpty[kStages];
};

struct Arguments {
    TileOrder order; ///< over (key tile, key head, batch), the last tile standing for the first keys
    MaskPolicy<int> mask;
    float scale;
    float scaleLog2;
    int queryHeads;
    int queryHeadsPerKeyHead;
    int queryTiles;
    BackwardWorkspace workspace;
};

struct RingPosition {
    int stage = 0;
    std::uint32_t parity = 0;
    __device__ void advance()
    {
        if (++stage == kStages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/// What a CTA works on.
struct Place {
    int keyTile;
    int keyHead;
    int batch;
    int firstQueryTile; ///< of those that see a key of the tile
};

template <class Tile> __device__ Place placeOf(const Arguments& arguments)
{
    const TilePosition at = arguments.order.position(blockIdx.x);
    const int keyTiles = arguments.order.queryTiles;
    const int keyTile = arguments.mask.causal ? keyTiles - 1 - at.queryTile : at.queryTile;
    return {keyTile, at.head, at.batch, arguments.mask.firstQueryOf(keyTile * kKeys) / Tile::queries};
}

// --- producer: one warp loads, two more add up gradQ ---------------------------------------------

template <class Tile>
__device__ void loadTile(const CUtensorMap& map, unsigned char* tile, Barrier& full, int rows, int row,
                         int head, int batch)
{
#pragma unroll
    for (int panel = 0; panel < Tile::panels; ++panel)
        loadBox(map, tile + panel * rows * kRowBytes, full, panel * kPanelColumns, row, head, batch);
}

template <class Tile>
__device__ void produce(const CUtensorMap& queryMap, const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                        const CUtensorMap& gradOMap, const Arguments& arguments, const Place& place,
                        SharedMemory<Tile>& shared)
{
    arriveExpecting(shared.keysFull, 2 * Tile::keyBytes);
    loadTile<Tile>(keyMap, shared.key, shared.keysFull, kKeys, place.keyTile * kKeys, place.keyHead,
                   place.batch);
    loadTile<Tile>(valueMap, shared.value, shared.keysFull, kKeys, place.keyTile * kKeys, place.keyHead,
                   place.batch);
    RingPosition ring;
    for (int member = 0; member < arguments.queryHeadsPerKeyHead; ++member) {
        const int head = place.keyHead * arguments.queryHeadsPerKeyHead + member;
        const std::int64_t firstRow =
            (std::int64_t{place.batch} * arguments.queryHeads + head) * arguments.workspace.paddedRows;
#pragma unroll 1
        for (int tile = place.firstQueryTile; tile < arguments.queryTiles; ++tile) {
            constexpr std::uint32_t kRowsBytes = Tile::queries * sizeof(float);
            const std::int64_t row = firstRow + tile * Tile::queries;
            wait(shared.queryEmpty[ring.stage], ring.parity ^ 1);
            arriveExpecting(shared.queryFull[ring.stage], Tile::queryBytes + kRowsBytes);
            loadTile<Tile>(queryMap, shared.query[ring.stage], shared.queryFull[ring.stage], Tile::queries,
                           tile * Tile::queries, head, place.batch);
            loadBytes(shared.logSumExp2[ring.stage], arguments.workspace.logSumExp2 + row, kRowsBytes,
                      shared.queryFull[ring.stage]);
            wait(shared.gradEmpty[ring.stage], ring.parity ^ 1);
            arriveExpecting(shared.gradFull[ring.stage], Tile::queryBytes + kRowsBytes);
            loadTile<Tile>(gradOMap, shared.gradO[ring.stage], shared.gradFull[ring.stage], Tile::queries,
                           tile * Tile::queries, head, place.batch);
            loadBytes(shared.delta[ring.stage], arguments.workspace.delta + row, kRowsBytes,
                      shared.gradFull[ring.stage]);
            ring.advance();
        }
    }
}

__device__ inline unsigned loadAcquire(const unsigned* address)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

/// Adds piece `consumer` of every query tile to global memory. With a fixed order it waits for the key tiles
/// before its own; the CTAs of those started earlier, so that they never wait for this one.
template <class Tile>
__device__ void addGradQueries(const Arguments& arguments, const Place& place, SharedMemory<Tile>& shared,
                               int consumer)
{
    const bool leader = threadIdx.x % 32 == 0;
    const int firstHead = place.batch * arguments.queryHeads + place.keyHead * arguments.queryHeadsPerKeyHead;
    const unsigned myTurn = place.keyTile * kConsumers + consumer;
    int heads = arguments.queryHeadsPerKeyHead;
    int tile = firstHead * arguments.queryTiles + place.firstQueryTile; // counted over all heads
    while (heads > 0 && place.firstQueryTile < arguments.queryTiles) {
        namedWait(2 + consumer, kWarpgroup + 32);
        if (leader) {
            unsigned* turn = arguments.workspace.turns ? arguments.workspace.turns + tile : nullptr;
            while (turn && loadAcquire(turn) != myTurn) {
            }
            addFloats(arguments.workspace.gradQuery +
                          (std::int64_t{tile} * kConsumers + consumer) * kPieceFloats,
                      shared.gradQuery[consumer], kPieceFloats * sizeof(float));
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
        namedArrive(4 + consumer, kWarpgroup + 32);
        if (++tile % arguments.queryTiles == 0) { // the next head of the group
            tile += place.firstQueryTile;
            --heads;
        }
    }
    if (leader)
        waitStoresDone();
}

// --- consumer ------------------------------------------------------------------------------------

template <class Element> __device__ std::uint32_t pack(float first, float second)
{
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
        return reinterpret_cast<const std::uint32_t&>(pair);
    } else {
        const __half2 pair = __floats2half2_rn(first, second);
        return reinterpret_cast<const std::uint32_t&>(pair);
    }
}

template <class Tile, class Element> struct Consumer {
    static constexpr int kScores = Tile::queries / 2; // accumulator registers of 64 keys x queries
    static constexpr int kGrads = Tile::headDim / 2;
    using Scores = float[kScores];
    using Packed = std::uint32_t[kScores / 2];

    const Arguments& arguments;
    SharedMemory<Tile>& shared;
    const int consumer = threadIdx.x / kWarpgroup - 1;
    const int rowInConsumer =
        threadIdx.x / 4 % 8 + threadIdx.x / 32 % 4 * 16; // first of this thread's two keys
    float gradKey[kGrads];
    float gradValue[kGrads];

    /// 64 rows of this consumer's keys times all queries of the tile: a b'. Asynchronous.
    __device__ static void multiply(Scores& scores, std::uint64_t keys, std::uint64_t queries)
    {
#pragma unroll
        for (int step = 0; step < Tile::headDim / 16; ++step) {
            const int panel = step / 4;
            const int within = step % 4 * 32;
            product<Element>(scores, advance(keys, panel * kKeys * kRowBytes + within),
                             advance(queries, panel * Tile::queries * kRowBytes + within), step > 0);
        }
    }

    /// grad += weights rows, 64 keys x queries times queries x head dim. Asynchronous.
    __device__ static void accumulate(float (&grad)[kGrads], const Packed& weights, std::uint64_t rows)
    {
#pragma unroll
        for (int step = 0; step < Tile::queries / 16; ++step) {
            const std::uint64_t at = advance(rows, step * 16 * kRowBytes);
            if constexpr (Tile::headDim == 32 || Tile::headDim == 64 || Tile::headDim == 128) {
                productFromRegisters<Element>(grad, weights + 4 * step, at);
            } else { // 96: one whole panel and a part of the second
                auto& first = reinterpret_cast<float(&)[32]>(grad);
                auto& rest = reinterpret_cast<float(&)[kGrads - 32]>(grad[32]);
                productFromRegisters<Element>(first, weights + 4 * step, at);
                productFromRegisters<Element>(rest, weights + 4 * step,
                                              advance(at, Tile::queries * kRowBytes));
            }
        }
    }

    /// This consumer's piece of dS k: 64 queries x 64 columns over all 128 keys. Asynchronous.
    __device__ void multiplyGradQuery(float (&grad)[32], int buffer) const
    {
        // 128 queries: a panel of queries each; 64 queries: a panel of columns each.
        constexpr bool kByRows = Tile::queries == 128;
        const std::uint64_t scores = matrixDescriptor(sharedAddress(shared.gradScores[buffer]) +
                                                      (kByRows ? consumer * kKeys * kRowBytes : 0));
        const std::uint64_t keys =
            matrixDescriptor(sharedAddress(shared.key) + (kByRows ? 0 : consumer * kKeys * kRowBytes));
#pragma unroll
        for (int step = 0; step < kKeys / 16; ++step)
            productOfTransposed<Element>(grad, advance(scores, step * 16 * kRowBytes),
                                         advance(keys, step * 16 * kRowBytes), step > 0);
    }

    /// scores = P^T; what the mask hides becomes 0.
    __device__ void exponentiate(Scores& scores, const float* logSumExp2, int keyRow, int firstQuery) const
    {
        const bool masked =
            arguments.mask.causal && arguments.mask.keysSeenBy(firstQuery) < keyRow / 64 * 64 + 64;
        if (masked) {
#pragma unroll
            for (int i = 0; i < kScores; ++i) {
                const int query = firstQuery + 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2;
                if (!arguments.mask.sees(query, keyRow + 8 * (i / 2 % 2)))
                    scores[i] = -INFINITY;
            }
        }
#pragma unroll
        for (int i = 0; i < kScores; i += 4) {
            const float2 lse = *reinterpret_cast<const float2*>(logSumExp2 + 2 * i + 2 * (threadIdx.x % 4));
            scores[i] = exp2Special(fmaf(scores[i], arguments.scaleLog2, -lse.x));
            scores[i + 1] = exp2Special(fmaf(scores[i + 1], arguments.scaleLog2, -lse.y));
            scores[i + 2] = exp2Special(fmaf(scores[i + 2], arguments.scaleLog2, -lse.x));
            scores[i + 3] = exp2Special(fmaf(scores[i + 3], arguments.scaleLog2, -lse.y));
        }
    }

    /// gradScores = dS^T = P^T (dP^T - delta).
    __device__ static void scoreGradients(Scores& gradScores, const Scores& scores, const float* delta)
    {
#pragma unroll
        for (int i = 0; i < kScores; i += 4) {
            const float2 rows = *reinterpret_cast<const float2*>(delta + 2 * i + 2 * (threadIdx.x % 4));
            gradScores[i] = scores[i] * (gradScores[i] - rows.x);
            gradScores[i + 1] = scores[i + 1] * (gradScores[i + 1] - rows.y);
            gradScores[i + 2] = scores[i + 2] * (gradScores[i + 2] - rows.x);
            gradScores[i + 3] = scores[i + 3] * (gradScores[i + 3] - rows.y);
        }
    }

    __device__ static void packAll(Packed& packed, const Scores& values)
    {
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i)
            packed[i] = pack<Element>(values[2 * i], values[2 * i + 1]);
    }

    /// Rows of this consumer's keys, columns of queries, in panels of 64 with the 128-byte swizzle.
    __device__ void storeScores(const Packed& packed, int buffer) const
    {
        const int row = consumer * kRowsPerConsumer + rowInConsumer;
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i) {
            const int chunk = i / 2; // of 8 queries
            const int local = row + 8 * (i % 2);
            unsigned char* panel = shared.gradScores[buffer] + chunk / 8 * kKeys * kRowBytes;
            *reinterpret_cast<std::uint32_t*>(panel + local * kRowBytes + ((chunk % 8) ^ (local % 8)) * 16 +
                                              threadIdx.x % 4 * 4) = packed[i];
        }
    }

    __device__ void release(Barrier& barrier) const
    {
        if (threadIdx.x % 32 == 0)
            arrive(barrier);
    }

    __device__ void run(const CUtensorMap& gradKeyMap, const CUtensorMap& gradValueMap, const Place& place)
    {
        const int keyRow = place.keyTile * kKeys + consumer * kRowsPerConsumer + rowInConsumer;
        const std::uint64_t keys =
            matrixDescriptor(sharedAddress(shared.key) + consumer * kRowsPerConsumer * kRowBytes);
        const std::uint64_t values =
            matrixDescriptor(sharedAddress(shared.value) + consumer * kRowsPerConsumer * kRowBytes);
#pragma unroll
        for (int i = 0; i < kGrads; ++i)
            gradKey[i] = gradValue[i] = 0;
        wait(shared.keysFull, 0);
        RingPosition ring;
        int buffer = 0;
        const int tiles = arguments.queryTiles - place.firstQueryTile;
#pragma unroll 1
        for (int index = 0; index < tiles * arguments.queryHeadsPerKeyHead; ++index) {
            const int tile = place.firstQueryTile + index % tiles;
            step(keys, values, ring, buffer, keyRow, tile * Tile::queries, index == 0);
            ring.advance();
            buffer ^= 1;
        }
        if (tiles * arguments.queryHeadsPerKeyHead > 0)
            namedWait(4 + consumer, kWarpgroup + 32); // the last piece has been read
        namedWait(1, kConsumers * kWarpgroup);        // nobody reads k or v any more
#pragma unroll
        for (int i = 0; i < kGrads; ++i)
            gradKey[i] *= arguments.scale;
        storeGradient(gradKeyMap, gradKey, shared.key, place);
        storeGradient(gradValueMap, gradValue, shared.value, place);
        if (threadIdx.x % kWarpgroup == 0)
            waitStoresRead();
    }

    __device__ void step(std::uint64_t keys, std::uint64_t values, const RingPosition& ring, int buffer,
                         int keyRow, int firstQuery, bool first)
    {
        const int stage = ring.stage;
        const std::uint32_t queryAddress = sharedAddress(shared.query[stage]);
        const std::uint32_t gradAddress = sharedAddress(shared.gradO[stage]);
        Scores scores, gradScores;
        Packed weights, gradWeights;
        float gradQuery[32];

        wait(shared.queryFull[stage], ring.parity);
        pin(gradKey);
        pin(gradValue);
        fenceProducts();
        multiply(scores, keys, matrixDescriptor(queryAddress));
        commitProducts();
        wait(shared.gradFull[stage], ring.parity);
        fenceProducts();
        multiply(gradScores, values, matrixDescriptor(gradAddress));
        commitProducts();

        waitProducts<1>();
        pin(scores);
        exponentiate(scores, shared.logSumExp2[stage], keyRow, firstQuery);
        packAll(weights, scores);
        pin(scores);
        pin(weights);
        fenceProducts();
        accumulate(gradValue, weights, matrixDescriptor(gradAddress, Tile::queries * kRowBytes));
        commitProducts();

        waitProducts<1>();
        pin(gradScores);
        scoreGradients(gradScores, scores, shared.delta[stage]);
        packAll(gradWeights, gradScores);
        storeScores(gradWeights, buffer);
        fenceAsyncProxy();
        pin(gradWeights);
        namedWait(1, kConsumers * kWarpgroup);
        fenceProducts();
        multiplyGradQuery(gradQuery, buffer);
        commitProducts();
        accumulate(gradKey, gradWeights, matrixDescriptor(queryAddress, Tile::queries * kRowBytes));
        commitProducts();

        waitProducts<1>();
        pin(gradQuery);
        release(shared.gradEmpty[stage]);
        if (!first)
            namedWait(4 + consumer, kWarpgroup + 32);
        auto* piece = reinterpret_cast<float4*>(shared.gradQuery[consumer]);
#pragma unroll
        for (int chunk = 0; chunk < 8; ++chunk)
            piece[chunk * kWarpgroup + threadIdx.x % kWarpgroup] =
                make_float4(gradQuery[4 * chunk], gradQuery[4 * chunk + 1], gradQuery[4 * chunk + 2],
                            gradQuery[4 * chunk + 3]);
        fenceAsyncProxy();
        namedArrive(2 + consumer, kWarpgroup + 32);
        waitProducts<0>();
        pin(gradKey);
        pin(gradValue);
        release(shared.queryEmpty[stage]);
    }

    /// This consumer's 64 rows, through shared memory and out by TMA.
    __device__ void storeGradient(const CUtensorMap& map, const float (&grad)[kGrads], unsigned char* tile,
                                  const Place& place) const
    {
        unsigned char* rows = tile + consumer * kRowsPerConsumer * kRowBytes;
#pragma unroll
        for (int i = 0; i < kGrads / 2; ++i) {
            const int chunk = i / 2; // of 8 columns
            const int local = rowInConsumer + 8 * (i % 2);
            unsigned char* panel = rows + chunk / 8 * kKeys * kRowBytes;
            *reinterpret_cast<std::uint32_t*>(panel + local * kRowBytes + ((chunk % 8) ^ (local % 8)) * 16 +
                                              threadIdx.x % 4 * 4) =
                pack<Element>(grad[2 * i], grad[2 * i + 1]);
        }
        fenceAsyncProxy();
        namedWait(6 + consumer, kWarpgroup);
        if (threadIdx.x % kWarpgroup == 0) {
#pragma unroll
            for (int panel = 0; panel < Tile::panels; ++panel)
                storeBox(map, rows + panel * kKeys * kRowBytes, panel * kPanelColumns,
                         place.keyTile * kKeys + consumer * kRowsPerConsumer, place.keyHead, place.batch);
            commitStores();
        }
    }
};

// --- kernel and launcher -------------------------------------------------------------------------

template <class Tile, class Element>
__global__ void __launch_bounds__(kThreads, 1)
    attentionBackward(const __grid_constant__ CUtensorMap queryMap,
                      const __grid_constant__ CUtensorMap keyMap,
                      const __grid_constant__ CUtensorMap valueMap,
                      const __grid_constant__ CUtensorMap gradOMap,
                      const __grid_constant__ CUtensorMap gradKeyMap,
                      const __grid_constant__ CUtensorMap gradValueMap,
                      const __grid_constant__ Arguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    auto& shared = *reinterpret_cast<SharedMemory<Tile>*>(raw);
    if (threadIdx.x == 0) {
        initBarrier(shared.keysFull, 1);
        for (int stage = 0; stage < kStages; ++stage) {
            initBarrier(shared.queryFull[stage], 1);
            initBarrier(shared.gradFull[stage], 1);
            initBarrier(shared.queryEmpty[stage], kConsumers * 4);
            initBarrier(shared.gradEmpty[stage], kConsumers * 4);
        }
        fenceBarrierInit();
    }
    __syncthreads();

    const Place place = placeOf<Tile>(arguments);
    if (threadIdx.x < kWarpgroup) {
        giveRegisters<kProducerRegisters>();
        const int warp = threadIdx.x / 32;
        if (threadIdx.x == 0)
            produce<Tile>(queryMap, keyMap, valueMap, gradOMap, arguments, place, shared);
        else if (warp == 1 || warp == 2)
            addGradQueries<Tile>(arguments, place, shared, warp - 1);
    } else {
        takeRegisters<kConsumerRegisters>();
        Consumer<Tile, Element>{arguments, shared}.run(gradKeyMap, gradValueMap, place);
    }
}

template <int HeadDim, class Element>
cudaError_t launch(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    using T = Tile<HeadDim>;
    const AttentionShape& shape = problem.shape;
    const auto map = [&](const auto& view, std::int64_t heads, std::int64_t rows, int boxRows) {
        return tensorMap(problem.type, const_cast<void*>(static_cast<const void*>(view.data)), shape.headDim,
                         rows, heads, shape.batch, view.rowStride, view.headStride, view.batchStride,
                         boxRows);
    };
    const CUtensorMap query = map(tensors.q, shape.queryHeads, shape.queries, T::queries);
    const CUtensorMap key = map(tensors.k, shape.keyHeads, shape.keys, kKeys);
    const CUtensorMap value = map(tensors.v, shape.keyHeads, shape.keys, kKeys);
    const CUtensorMap gradO = map(tensors.gradO, shape.queryHeads, shape.queries, T::queries);
    const CUtensorMap gradKey = map(tensors.gradK, shape.keyHeads, shape.keys, kRowsPerConsumer);
    const CUtensorMap gradValue = map(tensors.gradV, shape.keyHeads, shape.keys, kRowsPerConsumer);

    constexpr double kLog2E = 1.4426950408889634;
    const BackwardWorkspace workspace = BackwardWorkspace::at(tensors.workspace, problem, T::queries);
    const std::int64_t bytesPerHead = (4 + 4) * shape.queries * shape.headDim; // q, gradO and fp32 gradQ
    const Arguments arguments{
        .order = TileOrder::make(static_cast<int>((shape.keys + kKeys - 1) / kKeys),
                                 static_cast<int>(shape.keyHeads), static_cast<int>(shape.batch),
                                 problem.causal, bytesPerHead),
        .mask = {static_cast<int>(shape.queries), static_cast<int>(shape.keys), problem.causal},
        .scale = static_cast<float>(problem.scale),
        .scaleLog2 = static_cast<float>(problem.scale * kLog2E),
        .queryHeads = static_cast<int>(shape.queryHeads),
        .queryHeadsPerKeyHead = static_cast<int>(shape.queryHeads / shape.keyHeads),
        .queryTiles = workspace.paddedRows / T::queries,
        .workspace = workspace,
    };
    const auto kernel = attentionBackward<T, Element>;
    const int bytes = sizeof(SharedMemory<T>);
    static const cudaError_t raised =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (raised != cudaSuccess)
        return raised;
    if (const cudaError_t error = prepareBackward(problem, tensors, workspace, T::queries, stream);
        error != cudaSuccess)
        return error;
    kernel<<<arguments.order.tiles, kThreads, bytes, stream>>>(query, key, value, gradO, gradKey, gradValue,
                                                               arguments);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
        return error;
    return finishBackward(problem, tensors, workspace, T::queries, stream);
}

template <int HeadDim>
cudaError_t launchFor(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return problem.type == ElementType::BFloat16 ? launch<HeadDim, __nv_bfloat16>(problem, tensors, stream)
                                                 : launch<HeadDim, __half>(problem, tensors, stream);
}

int queryTile(int headDim)
{
    return headDim <= 64 ? Tile<64>::queries : Tile<128>::queries;
}

} // namespace

bool backwardKnows(const AttentionProblem& problem)
{
    const AttentionShape& shape = problem.shape;
    return (problem.type == ElementType::BFloat16 || problem.type == ElementType::Float16) &&
           shape.headDim <= 128 && shape.headDim % 8 == 0 && shape.queries < (1 << 30) &&
           shape.keys < (1 << 30);
}

bool backwardTakes(const AttentionProblem& problem, const BackwardTensors& tensors)
{
    return backwardKnows(problem) && mappable(tensors.q) && mappable(tensors.k) && mappable(tensors.v) &&
           mappable(tensors.o) && mappable(tensors.gradO) && mappable(tensors.gradQ) &&
           mappable(tensors.gradK) && mappable(tensors.gradV);
}

std::size_t backwardWorkspaceBytes(const AttentionProblem& problem)
{
    return BackwardWorkspace::bytes(problem, queryTile(problem.shape.headDim));
}

cudaError_t backward(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    const int headDim = problem.shape.headDim;
    if (headDim <= 32)
        return launchFor<32>(problem, tensors, stream);
    if (headDim <= 64)
        return launchFor<64>(problem, tensors, stream);
    if (headDim <= 96)
        return launchFor<96>(problem, tensors, stream);
    return launchFor<128>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
