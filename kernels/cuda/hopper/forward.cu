/// Attention forward on Hopper: o = softmax(scale q k^T) v for bf16 and fp16, head dims up to 128.
///
/// Arithmetic: 4 N^2 d operations a head, all of them wgmma, and N^2 exponentials. One SM does 4096
/// operations and 16 exponentials a clock: for a 64 x 128 tile of scores at d = 128 that is 1024 clocks of
/// products and 512 of exponentials, so the products are the bound and must never wait for a softmax. At d =
/// 64 both take 512, and only overlap comes near either.
///
/// How: one producer warp moves tiles of q, k, v by TMA; each consumer warpgroup owns 64 query rows. A
/// consumer issues S' = q k'^T of the next key tile before O += P v of the present one, and does the softmax
/// of S' while both run; consumers take turns at issuing, so that one's softmax lies under the other's
/// products (FlashAttention-3, arXiv:2407.08608, sections 3.1 and 3.2). CTAs stay and draw tiles, longest
/// first where the mask makes them unequal; the next tile's first product is issued before the last of this
/// one, so that short rows do not pay for a beginning and an end each.
///
///     barriers            filled by            waited for by
///     queryFull           TMA (q tile)         consumers, once a tile
///     queryEmpty          consumers (o stored) producer, before the next q tile
///     keyFull/valueFull   TMA (k, v stage)     consumers
///     keyEmpty/valueEmpty every consumer warp  producer, before the stage is filled again
#include "kernels/cuda/hopper/forward.h"

#include "kernels/cuda/hopper/tensor_map.h"
#include "kernels/cuda/hopper/tickets.h"
#include "kernels/cuda/hopper/tile_order.h"
#include "kernels/cuda/hopper/wgmma.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::hopper {
namespace {

constexpr int kPanelColumns = 64; // 128 bytes: what one swizzled row holds
constexpr int kRowBytes = 2 * kPanelColumns;
constexpr int kStages = 2; // of k and v, and of q
constexpr int kRowsPerConsumer = 64;
constexpr int kWarpgroup = 128;
constexpr int kNoTile = -1;

/// Shape of a tile. forward() chooses one; kernels/NOTES.md has what was measured.
template <int HeadDim_, int Consumers, int Keys> struct Tile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = Consumers;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = Keys;
    static constexpr int panels = (headDim + kPanelColumns - 1) / kPanelColumns;
    static constexpr int threads = (consumers + 1) * kWarpgroup;
    static constexpr int producerRegisters = consumers == 3 ? 32 : 24;
    static constexpr int consumerRegisters = consumers == 3 ? 160 : 240;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = keys * panels * kRowBytes;
};

template <class Tile> struct SharedMemory {
    // Panels of 64 columns one after another; the 128-byte swizzle wants 1024-byte alignment. o leaves
    // through query's place.
    alignas(1024) unsigned char query[kStages][Tile::queryBytes];
    alignas(1024) unsigned char key[kStages][Tile::keyBytes];
    alignas(1024) unsigned char value[kStages][Tile::keyBytes];
    int tile[kStages]; // which tile lies in query, or kNoTile
    Barrier queryFull[kStages], queryEmpty[kStages];
    Barrier keyFull[kStages], keyEmpty[kStages];
    Barrier valueFull[kStages], valueEmpty[kStages];
};

struct Arguments {
    TileOrder order;
    MaskPolicy<int> mask;
    float scaleLog2; ///< scale * log2(e): the softmax works in powers of two
    int queryHeadsPerKeyHead;
    float* logSumExp;
    TileTickets* tickets;
};

/// Which stage of a ring comes next, and the parity of its barriers' phase.
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

/// Key tiles that some row of a query tile sees.
template <class Tile> __device__ int keyTiles(const Arguments& arguments, int queryTile)
{
    const int lastRow = min((queryTile + 1) * Tile::queries, arguments.mask.queries) - 1;
    return (arguments.mask.keysSeenBy(lastRow) + Tile::keys - 1) / Tile::keys;
}

// --- producer ------------------------------------------------------------------------------------

template <class Tile>
__device__ void load(const CUtensorMap& map, unsigned char* tile, Barrier& full, int rows, int row, int head,
                     int batch)
{
    arriveExpecting(full, rows * Tile::panels * kRowBytes);
#pragma unroll
    for (int panel = 0; panel < Tile::panels; ++panel)
        loadBox(map, tile + panel * rows * kRowBytes, full, panel * kPanelColumns, row, head, batch);
}

template <class Tile>
__device__ void produce(const CUtensorMap& queryMap, const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                        const Arguments& arguments, SharedMemory<Tile>& shared)
{
    RingPosition ring, queryRing;
    int tile = blockIdx.x;
    while (true) {
        const int next = drawTicket(*arguments.tickets) + gridDim.x; // in flight while this tile is loaded
        wait(shared.queryEmpty[queryRing.stage], queryRing.parity ^ 1);
        if (tile >= arguments.order.tiles) {
            shared.tile[queryRing.stage] = kNoTile;
            arrive(shared.queryFull[queryRing.stage]);
            break;
        }
        const TilePosition at = arguments.order.position(tile);
        const int keyHead = at.head / arguments.queryHeadsPerKeyHead;
        shared.tile[queryRing.stage] = tile;
        load<Tile>(queryMap, shared.query[queryRing.stage], shared.queryFull[queryRing.stage], Tile::queries,
                   at.queryTile * Tile::queries, at.head, at.batch);
        queryRing.advance();
#pragma unroll 1
        for (int keyTile = keyTiles<Tile>(arguments, at.queryTile) - 1; keyTile >= 0; --keyTile) {
            wait(shared.keyEmpty[ring.stage], ring.parity ^ 1);
            load<Tile>(keyMap, shared.key[ring.stage], shared.keyFull[ring.stage], Tile::keys,
                       keyTile * Tile::keys, keyHead, at.batch);
            wait(shared.valueEmpty[ring.stage], ring.parity ^ 1);
            load<Tile>(valueMap, shared.value[ring.stage], shared.valueFull[ring.stage], Tile::keys,
                       keyTile * Tile::keys, keyHead, at.batch);
            ring.advance();
        }
        tile = next;
    }
    returnTickets(*arguments.tickets, gridDim.x);
}

// --- consumer ------------------------------------------------------------------------------------

/// Consumers issue their products in turn: number w waits for its barrier, w + 1 is let go.
template <int Consumers> struct Turn {
    int consumer;
    __device__ void take() const { namedWait(1 + consumer, 2 * kWarpgroup); }
    __device__ void pass() const { namedArrive(1 + (consumer + 1) % Consumers, 2 * kWarpgroup); }
};

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

/// What a consumer thread holds of its two rows (lane / 4 and that + 8 of its warp's 16).
template <class Tile, class Element> struct Rows {
    static constexpr int kScores = Tile::keys / 2; // accumulator registers of a 64 x keys tile
    static constexpr int kOutputs = Tile::headDim / 2;
    using Scores = float[kScores];

    std::uint32_t weights[kScores / 2]; // P in pairs, as the second product's A operand
    float output[kOutputs];
    float max[2];
    float sum[2]; // of this thread's columns; the four threads of a row add up at the end

    __device__ void clearSoftmax()
    {
        max[0] = max[1] = -INFINITY;
        sum[0] = sum[1] = 0;
    }

    __device__ void clearOutput()
    {
#pragma unroll
        for (float& value : output)
            value = 0;
    }

    /// scores = q k^T. Asynchronous.
    __device__ static void multiplyKeys(Scores& scores, std::uint64_t query, std::uint64_t key)
    {
#pragma unroll
        for (int step = 0; step < Tile::headDim / 16; ++step) {
            const int panel = step / 4;
            const int within = step % 4 * 32;
            product<Element>(scores, advance(query, panel * Tile::queries * kRowBytes + within),
                             advance(key, panel * Tile::keys * kRowBytes + within), step > 0);
        }
    }

    /// output += weights v. Asynchronous.
    __device__ void multiplyValues(std::uint64_t value)
    {
#pragma unroll
        for (int step = 0; step < Tile::keys / 16; ++step) {
            const std::uint64_t rows = advance(value, step * 16 * kRowBytes);
            if constexpr (Tile::headDim == 32 || Tile::headDim == 64 || Tile::headDim == 128) {
                productFromRegisters<Element>(output, weights + 4 * step, rows);
            } else { // 96: one whole panel and a part of the second
                auto& first = reinterpret_cast<float(&)[32]>(output);
                auto& rest = reinterpret_cast<float(&)[kOutputs - 32]>(output[32]);
                productFromRegisters<Element>(first, weights + 4 * step, rows);
                productFromRegisters<Element>(rest, weights + 4 * step,
                                              advance(rows, Tile::keys * kRowBytes));
            }
        }
    }

    /// Scores that the mask hides become -infinity.
    __device__ static void hide(Scores& scores, const MaskPolicy<int>& mask, int firstRow, int firstKey)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int end = mask.keysSeenBy(firstRow + 8 * half) - firstKey - 2 * (threadIdx.x % 4);
#pragma unroll
            for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    if (8 * i + j >= end)
                        scores[4 * i + 2 * half + j] = -INFINITY;
        }
    }

    /// scores = exp(scale scores - offset). Both rows at once and in several chains: a chain of dependent
    /// operations would cost more than their number.
    ///
    /// The offset is a running maximum that may lag behind: it follows only when exponentials would pass 2^8,
    /// which after the first tiles is rare. True where it did for a row of this warp: then what was summed
    /// before must shrink by `shrink`.
    __device__ bool exponentiate(Scores& scores, float scaleLog2, float (&shrink)[2])
    {
        constexpr float kSlack = 8;
        constexpr int kChains = 4; // element i of the accumulator belongs to chain i % 4: rows 0, 0, 1, 1
        float largest[kChains];
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain)
            largest[chain] = scores[chain];
#pragma unroll
        for (int i = kChains; i < kScores; ++i)
            largest[i % kChains] = fmaxf(largest[i % kChains], scores[i]);
        float newMax[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            newMax[half] = fmaxf(fmaxf(largest[2 * half], largest[2 * half + 1]), max[half]);
            newMax[half] = fmaxf(newMax[half], __shfl_xor_sync(~0U, newMax[half], 1));
            newMax[half] = fmaxf(newMax[half], __shfl_xor_sync(~0U, newMax[half], 2));
        }
        const bool grew =
            (newMax[0] - max[0]) * scaleLog2 > kSlack || (newMax[1] - max[1]) * scaleLog2 > kSlack;
        const bool moved = __any_sync(~0U, grew);
        float offset[2];
        // Without a branch: ptxas would put the wait for the products first in the block after it.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            newMax[half] = moved ? newMax[half] : max[half];
            // A row that has seen nothing yet has maximum -infinity; subtracting it would make NaN.
            offset[half] = newMax[half] == -INFINITY ? 0.0f : newMax[half] * scaleLog2;
            shrink[half] =
                newMax[half] == -INFINITY ? 1.0f : exp2Special(max[half] * scaleLog2 - offset[half]);
            max[half] = newMax[half];
        }
        float sums[kChains] = {};
#pragma unroll
        for (int i = 0; i < kScores; ++i) {
            const float exponent = fmaf(scores[i], scaleLog2, -offset[i / 2 % 2]);
            scores[i] = exp2Special(exponent);
            sums[i % kChains] += scores[i];
        }
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] = sum[half] * shrink[half] + sums[2 * half] + sums[2 * half + 1];
        return moved;
    }

    __device__ void shrinkOutput(const float (&shrink)[2])
    {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i)
            output[i] *= shrink[i / 2 % 2];
    }

    __device__ void packWeights(const Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i)
            weights[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
    }

    /// Divides by the row sums, puts o in the tile's place in shared memory and the log-sum-exp in global
    /// memory.
    __device__ void finish(const Arguments& arguments, const float (&rowMax)[2], const float (&rowSum)[2],
                           unsigned char* tile, int row, std::int64_t firstRowOfHead)
    {
        constexpr float kLn2 = 0.693147180559945f;
        float inverse[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = rowSum[half];
            total += __shfl_xor_sync(~0U, total, 1);
            total += __shfl_xor_sync(~0U, total, 2);
            inverse[half] = total == 0 ? 0 : 1 / total; // no key seen: o = 0
            const int query = row + 8 * half;
            if (threadIdx.x % 4 == 0 && query < arguments.mask.queries)
                arguments.logSumExp[firstRowOfHead + query] =
                    total == 0 ? -INFINITY : rowMax[half] * arguments.scaleLog2 * kLn2 + logf(total);
        }
        const int rowInTile = threadIdx.x / 4 % 8 + threadIdx.x / 32 % 4 * 16;
#pragma unroll
        for (int i = 0; i < kOutputs / 2; ++i) {
            const int half = i % 2;
            const int chunk = i / 2; // of 8 columns
            const int local = rowInTile + 8 * half;
            unsigned char* panel = tile + chunk / 8 * Tile::queries * kRowBytes;
            *reinterpret_cast<std::uint32_t*>(panel + local * kRowBytes + ((chunk % 8) ^ (local % 8)) * 16 +
                                              threadIdx.x % 4 * 4) =
                pack<Element>(output[2 * i] * inverse[half], output[2 * i + 1] * inverse[half]);
        }
    }
};

/// One consumer warpgroup's walk over the tiles. Products never pause at the end of a tile: the first q k^T
/// of the next one is issued before the last P v of this one.
template <class Tile, class Element> struct Consumer {
    using State = Rows<Tile, Element>;

    const CUtensorMap& outputMap;
    const Arguments& arguments;
    SharedMemory<Tile>& shared;
    const int consumer = threadIdx.x / kWarpgroup - 1;
    const Turn<Tile::consumers> turn{consumer};
    RingPosition keyRing, valueRing, queryRing;

    /// A query tile and the stage of shared memory that its q lies in and its o will: in one register, for
    /// few are left.
    struct Place {
        int tileAndStage = 0;
        __device__ int stage() const { return tileAndStage % kStages; }
        __device__ int tile() const { return tileAndStage / kStages; }
    };
    Place current; // the tile whose scores are computed now
    int keyTile = -1;
    int row = 0;        // the first of this thread's two
    int alwaysSeen = 0; // keys from here on are hidden from some row of the tile

    __device__ int firstRow(const TilePosition& at) const
    {
        return at.queryTile * Tile::queries + consumer * kRowsPerConsumer + threadIdx.x / 4 % 8 +
               threadIdx.x / 32 % 4 * 16;
    }

    __device__ unsigned char* rowsOf(const Place& place) const
    {
        return shared.query[place.stage()] + consumer * kRowsPerConsumer * kRowBytes;
    }

    __device__ void release(Barrier& barrier) const
    {
        if (threadIdx.x % 32 == 0)
            arrive(barrier);
    }

    /// Goes to the next tile that has keys to look at; tiles without any are written as zeros on the way.
    /// False: no more.
    __device__ bool nextTile()
    {
        while (true) {
            wait(shared.queryFull[queryRing.stage], queryRing.parity);
            const int tile = shared.tile[queryRing.stage];
            if (tile == kNoTile)
                return false;
            current = {tile * kStages + queryRing.stage};
            const TilePosition at = arguments.order.position(tile);
            keyTile = keyTiles<Tile>(arguments, at.queryTile) - 1;
            alwaysSeen = arguments.mask.keysSeenBy(at.queryTile * Tile::queries);
            row = firstRow(at);
            queryRing.advance();
            if (keyTile >= 0)
                return true;
            State empty;
            empty.clearOutput();
            empty.clearSoftmax();
            store(current, empty, empty.max, empty.sum);
        }
    }

    /// Sends this warpgroup's rows of o through shared memory to global memory and gives their place back.
    __device__ void store(const Place& place, State& state, const float (&rowMax)[2],
                          const float (&rowSum)[2]) const
    {
        const TilePosition at = arguments.order.position(place.tile());
        const std::int64_t firstRowOfHead =
            (std::int64_t{at.batch} * arguments.order.heads + at.head) * arguments.mask.queries;
        unsigned char* rows = rowsOf(place);
        state.finish(arguments, rowMax, rowSum, rows, firstRow(at), firstRowOfHead);
        fenceAsyncProxy();
        namedWait(8 + consumer, kWarpgroup);
        if (threadIdx.x % kWarpgroup == 0) {
#pragma unroll
            for (int panel = 0; panel < Tile::panels; ++panel)
                storeBox(outputMap, rows + panel * Tile::queries * kRowBytes, panel * kPanelColumns,
                         at.queryTile * Tile::queries + consumer * kRowsPerConsumer, at.head, at.batch);
            commitStores();
            waitStoresRead();
            arrive(shared.queryEmpty[place.stage()]);
        }
    }

    __device__ std::uint64_t queryOperand() const
    {
        return matrixDescriptor(sharedAddress(rowsOf(current)));
    }
    __device__ std::uint64_t keyOperand() const
    {
        return matrixDescriptor(sharedAddress(shared.key[keyRing.stage]));
    }
    __device__ std::uint64_t valueOperand() const
    {
        return matrixDescriptor(sharedAddress(shared.value[valueRing.stage]), Tile::keys * kRowBytes);
    }

    __device__ void run()
    {
        if (consumer == Tile::consumers - 1)
            turn.pass();
        if (!nextTile())
            return;
        State state;
        float shrink[2];
        state.clearOutput();
        state.clearSoftmax();
        {
            typename State::Scores scores;
            wait(shared.keyFull[keyRing.stage], keyRing.parity);
            fenceProducts();
            State::multiplyKeys(scores, queryOperand(), keyOperand());
            commitProducts();
            waitProducts<0>();
            pin(scores);
            release(shared.keyEmpty[keyRing.stage]);
            keyRing.advance();
            State::hide(scores, arguments.mask, row, keyTile * Tile::keys);
            state.exponentiate(scores, arguments.scaleLog2, shrink);
            state.packWeights(scores);
        }
        Place finished;
        float finishedMax[2], finishedSum[2];
#pragma unroll 1
        while (true) {
            const bool last = keyTile == 0;
            --keyTile;
            if (last)
                finished = current; // what P and o belong to, before nextTile() moves on
            if (last && !nextTile()) {
                wait(shared.valueFull[valueRing.stage], valueRing.parity);
                pin(state.output);
                pin(state.weights);
                fenceProducts();
                state.multiplyValues(valueOperand());
                commitProducts();
                waitProducts<0>();
                pin(state.output);
                store(finished, state, state.max, state.sum);
                return;
            }

            // A fresh accumulator: products that start from zero must not seem to read the old one.
            typename State::Scores scores;
            wait(shared.keyFull[keyRing.stage], keyRing.parity);
            turn.take();
            pin(state.output);
            pin(state.weights);
            fenceProducts();
            State::multiplyKeys(scores, queryOperand(), keyOperand());
            commitProducts();
            wait(shared.valueFull[valueRing.stage], valueRing.parity);
            fenceProducts();
            state.multiplyValues(valueOperand());
            commitProducts();
            turn.pass();

            waitProducts<1>();
            pin(scores);
            release(shared.keyEmpty[keyRing.stage]);
            keyRing.advance();
            if (last || (keyTile + 1) * Tile::keys > alwaysSeen)
                State::hide(scores, arguments.mask, row, keyTile * Tile::keys);
            if (last) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    finishedMax[half] = state.max[half];
                    finishedSum[half] = state.sum[half];
                }
                state.clearSoftmax();
            }
            const bool moved = state.exponentiate(scores, arguments.scaleLog2, shrink);
            // Never taken. Without a branch that hangs on the sums ptxas puts the wait for the products
            // before the softmax that they should hide.
            if (state.sum[0] + state.sum[1] < 0)
                __trap();

            waitProducts<0>();
            pin(state.output);
            pin(state.weights);
            release(shared.valueEmpty[valueRing.stage]);
            valueRing.advance();
            if (last) {
                store(finished, state, finishedMax, finishedSum);
                state.clearOutput();
            } else if (moved) {
                state.shrinkOutput(shrink);
            }
            state.packWeights(scores);
        }
    }
};

// --- kernel and launcher -------------------------------------------------------------------------

template <class Tile, class Element>
__global__ void __launch_bounds__(Tile::threads, 1)
    attentionForward(const __grid_constant__ CUtensorMap queryMap, const __grid_constant__ CUtensorMap keyMap,
                     const __grid_constant__ CUtensorMap valueMap,
                     const __grid_constant__ CUtensorMap outputMap,
                     const __grid_constant__ Arguments arguments)
{
    extern __shared__ __align__(1024) unsigned char raw[];
    auto& shared = *reinterpret_cast<SharedMemory<Tile>*>(raw);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            initBarrier(shared.queryFull[stage], 1);
            initBarrier(shared.queryEmpty[stage], Tile::consumers);
            initBarrier(shared.keyFull[stage], 1);
            initBarrier(shared.valueFull[stage], 1);
            initBarrier(shared.keyEmpty[stage], Tile::consumers * 4);
            initBarrier(shared.valueEmpty[stage], Tile::consumers * 4);
        }
        fenceBarrierInit();
    }
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        giveRegisters<Tile::producerRegisters>();
        if (threadIdx.x == 0)
            produce<Tile>(queryMap, keyMap, valueMap, arguments, shared);
    } else {
        takeRegisters<Tile::consumerRegisters>();
        Consumer<Tile, Element>{outputMap, arguments, shared}.run();
    }
}

template <class Tile, class Element>
cudaError_t launch(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const auto map = [&](const auto& view, std::int64_t heads, std::int64_t rows, int boxRows) {
        return tensorMap(problem.type, const_cast<void*>(static_cast<const void*>(view.data)), shape.headDim,
                         rows, heads, shape.batch, view.rowStride, view.headStride, view.batchStride,
                         boxRows);
    };
    const CUtensorMap query = map(tensors.q, shape.queryHeads, shape.queries, Tile::queries);
    const CUtensorMap key = map(tensors.k, shape.keyHeads, shape.keys, Tile::keys);
    const CUtensorMap value = map(tensors.v, shape.keyHeads, shape.keys, Tile::keys);
    const CUtensorMap output = map(tensors.o, shape.queryHeads, shape.queries, kRowsPerConsumer);

    constexpr double kLog2E = 1.4426950408889634;
    const std::int64_t bytesPerHead = 4 * shape.keys * shape.headDim; // k and v
    const Arguments arguments{
        .order = TileOrder::make(static_cast<int>((shape.queries + Tile::queries - 1) / Tile::queries),
                                 static_cast<int>(shape.queryHeads), static_cast<int>(shape.batch),
                                 problem.causal, bytesPerHead),
        .mask = {static_cast<int>(shape.queries), static_cast<int>(shape.keys), problem.causal},
        .scaleLog2 = static_cast<float>(problem.scale * kLog2E),
        .queryHeadsPerKeyHead = static_cast<int>(shape.queryHeads / shape.keyHeads),
        .logSumExp = static_cast<float*>(tensors.logSumExp),
        .tickets = nextTickets(),
    };
    const auto kernel = attentionForward<Tile, Element>;
    const int bytes = sizeof(SharedMemory<Tile>);
    static const cudaError_t raised =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (raised != cudaSuccess)
        return raised;
    const int grid = std::min(arguments.order.tiles, multiprocessors());
    kernel<<<grid, Tile::threads, bytes, stream>>>(query, key, value, output, arguments);
    return cudaGetLastError();
}

template <int HeadDim, int Consumers, int Keys>
cudaError_t launchFor(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    using Chosen = Tile<HeadDim, Consumers, Keys>;
    return problem.type == ElementType::BFloat16 ? launch<Chosen, __nv_bfloat16>(problem, tensors, stream)
                                                 : launch<Chosen, __half>(problem, tensors, stream);
}

} // namespace

bool forwardTakes(const AttentionProblem& problem, const ForwardTensors& tensors)
{
    const AttentionShape& shape = problem.shape;
    if (problem.type != ElementType::BFloat16 && problem.type != ElementType::Float16)
        return false;
    if (shape.headDim > 128 || shape.headDim % 8 != 0)
        return false;
    return mappable(tensors.q) && mappable(tensors.k) && mappable(tensors.v) && mappable(tensors.o) &&
           shape.queries < (1 << 30) && shape.keys < (1 << 30);
}

cudaError_t forward(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream)
{
    // Three consumers share one stage of k and v while 160 registers are enough (S 64, o 32, P 32). Two
    // consumers have 240: at head dim 128 long rows gain from 160 keys at a time (fewer rescalings of o),
    // short ones lose more in the last, partly empty tile.
    const AttentionShape& shape = problem.shape;
    if (shape.headDim <= 32)
        return launchFor<32, 3, 128>(problem, tensors, stream);
    if (shape.headDim <= 64)
        return launchFor<64, 3, 128>(problem, tensors, stream);
    if (shape.headDim <= 96)
        return launchFor<96, 2, 128>(problem, tensors, stream);
    return shape.keys < (problem.causal ? 8192 : 2048) ? launchFor<128, 2, 128>(problem, tensors, stream)
                                                       : launchFor<128, 2, 160>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
