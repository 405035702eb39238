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

#include "kernels/cuda/device.h"
#include "kernels/cuda/hopper/backward_consumer.h"
#include "kernels/cuda/hopper/tensor_map.h"

namespace tilescope::kernels::hopper {
namespace {

constexpr int kKeys = kBackwardKeys;
constexpr int kConsumers = kBackwardConsumers;
constexpr int kThreads = (kConsumers + 1) * kWarpgroup;
constexpr int kProducerRegisters = 24; // 240 * 256 + 24 * 128 is what 384 threads of 168 start with
constexpr int kConsumerRegisters = 240;

template <class Tile> __device__ BackwardPlace placeOf(const BackwardArguments& arguments)
{
    const TilePosition at = arguments.order.position(blockIdx.x);
    const int keyTiles = arguments.order.queryTiles;
    const int keyTile = arguments.mask.causal ? keyTiles - 1 - at.queryTile : at.queryTile;
    return {keyTile, at.head, at.batch, arguments.mask.firstQueryOf(keyTile * kKeys) / Tile::queries};
}

// --- producer: one warp loads, two more add up gradQ ---------------------------------------------

template <class Tile>
__device__ void produce(const CUtensorMap& queryMap, const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                        const CUtensorMap& gradOMap, const BackwardArguments& arguments,
                        const BackwardPlace& place, BackwardShared<Tile>& shared)
{
    arriveExpecting(shared.keysFull, 2 * Tile::keyBytes);
    loadTile<Tile::panels>(keyMap, shared.key, shared.keysFull, kKeys, place.keyTile * kKeys, place.keyHead,
                           place.batch);
    loadTile<Tile::panels>(valueMap, shared.value, shared.keysFull, kKeys, place.keyTile * kKeys,
                           place.keyHead, place.batch);
    typename Tile::Ring ring;
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
            loadTile<Tile::panels>(queryMap, shared.query[ring.stage], shared.queryFull[ring.stage],
                                   Tile::queries, tile * Tile::queries, head, place.batch);
            loadBytes(shared.logSumExp2[ring.stage], arguments.workspace.logSumExp2 + row, kRowsBytes,
                      shared.queryFull[ring.stage]);
            wait(shared.gradEmpty[ring.stage], ring.parity ^ 1);
            arriveExpecting(shared.gradFull[ring.stage], Tile::queryBytes + kRowsBytes);
            loadTile<Tile::panels>(gradOMap, shared.gradO[ring.stage], shared.gradFull[ring.stage],
                                   Tile::queries, tile * Tile::queries, head, place.batch);
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
__device__ void addGradQueries(const BackwardArguments& arguments, const BackwardPlace& place,
                               BackwardShared<Tile>& shared, int consumer)
{
    const bool leader = threadIdx.x % 32 == 0;
    const int firstHead = place.batch * arguments.queryHeads + place.keyHead * arguments.queryHeadsPerKeyHead;
    const GradQueryPiece piece = GradQueryPiece::of(consumer, arguments.headDim);
    float* sums = arguments.workspace.gradQuery + piece.offset(arguments.headDim);
    const std::uint32_t bytes = GradQueryPiece::kRows * piece.columns * sizeof(float);
    const unsigned myTurn = place.keyTile * kConsumers + consumer;
    int heads = arguments.queryHeadsPerKeyHead;
    int tile = firstHead * arguments.queryTiles + place.firstQueryTile; // counted over all heads
    if (place.firstQueryTile >= arguments.queryTiles)
        return;
    namedArrive(pieceRead(consumer), kWarpgroup + 32); // the place for the first one is free
    while (heads > 0) {
        namedWait(pieceWritten(consumer), kWarpgroup + 32);
        if (leader) {
            unsigned* turn = arguments.workspace.turns ? arguments.workspace.turns + tile : nullptr;
            while (turn && loadAcquire(turn) != myTurn) {
            }
            addFloats(sums + std::int64_t{tile} * Tile::queries * arguments.headDim,
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
        namedArrive(pieceRead(consumer), kWarpgroup + 32);
        if (++tile % arguments.queryTiles == 0) { // the next head of the group
            tile += place.firstQueryTile;
            --heads;
        }
    }
    if (leader)
        waitStoresDone();
}

// --- kernel and launcher -------------------------------------------------------------------------

template <class Tile, class Element>
__global__ void __launch_bounds__(kThreads, 1)
    attentionBackward(const __grid_constant__ CUtensorMap queryMap,
                      const __grid_constant__ CUtensorMap keyMap,
                      const __grid_constant__ CUtensorMap valueMap,
                      const __grid_constant__ CUtensorMap gradOMap,
                      const __grid_constant__ CUtensorMap gradKeyMap,
                      const __grid_constant__ CUtensorMap gradValueMap,
                      const __grid_constant__ BackwardArguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    auto& shared = *reinterpret_cast<BackwardShared<Tile>*>(raw);
    if (threadIdx.x == 0) {
        shared.place = placeOf<Tile>(arguments);
        initBarrier(shared.keysFull, 1);
        for (int stage = 0; stage < Tile::stages; ++stage) {
            initBarrier(shared.queryFull[stage], 1);
            initBarrier(shared.gradFull[stage], 1);
            initBarrier(shared.queryEmpty[stage], kConsumers * 4);
            initBarrier(shared.gradEmpty[stage], kConsumers * 4);
        }
        fenceBarrierInit();
    }
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        giveRegisters<kProducerRegisters>();
        const int warp = threadIdx.x / 32;
        if (threadIdx.x == 0)
            produce<Tile>(queryMap, keyMap, valueMap, gradOMap, arguments, shared.place, shared);
        else if (warp == 1 || warp == 2)
            addGradQueries<Tile>(arguments, shared.place, shared, warp - 1);
    } else {
        takeRegisters<kConsumerRegisters>();
        BackwardConsumer<Tile, Element>{arguments, shared}.run(gradKeyMap, gradValueMap);
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
    const CUtensorMap query = map(tensors.q, shape.queryHeads, shape.queries, T::queries);
    const CUtensorMap key = map(tensors.k, shape.keyHeads, shape.keys, kKeys);
    const CUtensorMap value = map(tensors.v, shape.keyHeads, shape.keys, kKeys);
    const CUtensorMap gradO = map(tensors.gradO, shape.queryHeads, shape.queries, T::queries);
    const CUtensorMap gradKey = map(tensors.gradK, shape.keyHeads, shape.keys, kRowsPerConsumer);
    const CUtensorMap gradValue = map(tensors.gradV, shape.keyHeads, shape.keys, kRowsPerConsumer);

    constexpr double kLog2E = 1.4426950408889634;
    const std::int64_t bytesPerHead = (4 + 4) * shape.queries * shape.headDim; // q, gradO and fp32 gradQ
    const BackwardArguments arguments{
        .order = TileOrder::make(static_cast<int>((shape.keys + kKeys - 1) / kKeys),
                                 static_cast<int>(shape.keyHeads), static_cast<int>(shape.batch),
                                 problem.causal, bytesPerHead),
        .mask = {static_cast<int>(shape.queries), static_cast<int>(shape.keys), problem.causal},
        .scale = static_cast<float>(problem.scale),
        .scaleLog2 = static_cast<float>(problem.scale * kLog2E),
        .queryHeads = static_cast<int>(shape.queryHeads),
        .queryHeadsPerKeyHead = static_cast<int>(shape.queryHeads / shape.keyHeads),
        .queryTiles = workspace.paddedRows / T::queries,
        .headDim = shape.headDim,
        .workspace = workspace,
    };
    constexpr auto kernel = attentionBackward<T, Element>;
    constexpr int bytes = sizeof(BackwardShared<T>);
    if (const cudaError_t error = allowSharedMemory<kernel>(bytes); error != cudaSuccess)
        return error;
    kernel<<<arguments.order.tiles, kThreads, bytes, stream>>>(query, key, value, gradO, gradKey, gradValue,
                                                               arguments);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
        return error;
    return finishBackward(problem, tensors, workspace, stream);
}

template <int HeadDim>
cudaError_t launchFor(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream)
{
    return problem.type == ElementType::BFloat16 ? launch<HeadDim, __nv_bfloat16>(problem, tensors, stream)
                                                 : launch<HeadDim, __half>(problem, tensors, stream);
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
    return BackwardWorkspace::bytes(problem);
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
