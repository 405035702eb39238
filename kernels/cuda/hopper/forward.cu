/// Attention forward on Hopper: o = softmax(scale q k^T) v for bf16 and fp16.
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

#include "kernels/cuda/device.h"
#include "kernels/cuda/hopper/forward_rows.h"
#include "kernels/cuda/hopper/tensor_map.h"
#include "kernels/cuda/hopper/tickets.h"
#include "kernels/cuda/tile_order.h"

namespace tilescope::kernels::hopper {
namespace {

/// Shape of a tile. forward() chooses one; kernels/NOTES.md has what was measured.
template <int HeadDim_, int Consumers, int Keys> struct Tile {
    static constexpr int headDim = HeadDim_;
    static constexpr int consumers = Consumers;
    static constexpr int queries = consumers * kRowsPerConsumer;
    static constexpr int keys = Keys;
    static constexpr int panels = (headDim + kPanelColumns - 1) / kPanelColumns;
    static constexpr int stages = panels == 1 ? 4 : 2; ///< of k and v: as many as fit, for short rows
    static constexpr int queryStages = headDim > 128 ? 1 : (keys > 128 ? 2 : 3);
    static constexpr int threads = (consumers + 1) * kWarpgroup;
    static constexpr int producerRegisters = consumers == 3 ? 32 : 24;
    static constexpr int consumerRegisters = consumers == 3 ? 160 : 240;
    static constexpr int queryBytes = queries * panels * kRowBytes;
    static constexpr int keyBytes = keys * panels * kRowBytes;
};

/// A query tile on its way from producer to consumers.
struct Place {
    TilePosition at;
    int keyTiles; ///< that some row of it sees; kNoTile after the last
};
constexpr int kNoTile = -1;

template <class Tile> struct SharedMemory {
    // o leaves through query's place.
    alignas(1024) unsigned char query[Tile::queryStages][Tile::queryBytes];
    alignas(1024) unsigned char key[Tile::stages][Tile::keyBytes];
    alignas(1024) unsigned char value[Tile::stages][Tile::keyBytes];
    alignas(16) Place place[Tile::queryStages]; // of the tile that lies in query
    Barrier queryFull[Tile::queryStages], queryEmpty[Tile::queryStages];
    Barrier keyFull[Tile::stages], keyEmpty[Tile::stages];
    Barrier valueFull[Tile::stages], valueEmpty[Tile::stages];
};

struct Arguments {
    TileOrder order;
    MaskPolicy<int> mask;
    float scaleLog2; ///< scale * log2(e): the softmax works in powers of two
    int queryHeadsPerKeyHead;
    float* logSumExp;
    TileTickets* tickets;
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
    loadTile<Tile::panels>(map, tile, full, rows, row, head, batch);
}

template <class Tile>
__device__ void produce(const CUtensorMap& queryMap, const CUtensorMap& keyMap, const CUtensorMap& valueMap,
                        const Arguments& arguments, SharedMemory<Tile>& shared)
{
    RingPosition<Tile::stages> ring;
    RingPosition<Tile::queryStages> queryRing;
    int tile = blockIdx.x;
    while (true) {
        const int next = drawTicket(*arguments.tickets) + gridDim.x; // in flight while this tile is loaded
        wait(shared.queryEmpty[queryRing.stage], queryRing.parity ^ 1);
        if (tile >= arguments.order.tiles) {
            shared.place[queryRing.stage].keyTiles = kNoTile;
            arrive(shared.queryFull[queryRing.stage]);
            break;
        }
        const TilePosition at = arguments.order.position(tile);
        const int keyHead = at.head / arguments.queryHeadsPerKeyHead;
        const int keys = keyTiles<Tile>(arguments, at.queryTile);
        shared.place[queryRing.stage] = {at, keys};
        load<Tile>(queryMap, shared.query[queryRing.stage], shared.queryFull[queryRing.stage], Tile::queries,
                   at.queryTile * Tile::queries, at.head, at.batch);
        queryRing.advance();
#pragma unroll 1
        for (int keyTile = keys - 1; keyTile >= 0; --keyTile) {
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

/// One consumer warpgroup's walk over the tiles. Products never pause at the end of a tile: the first q k^T
/// of the next one is issued before the last P v of this one.
template <class Tile, class Element> struct Consumer {
    using State = ForwardRows<Tile, Element>;

    const CUtensorMap& outputMap;
    const Arguments& arguments;
    SharedMemory<Tile>& shared;
    const int consumer = threadIdx.x / kWarpgroup - 1;
    const Turn<Tile::consumers> turn{consumer};
    RingPosition<Tile::stages> keyRing, valueRing;
    RingPosition<Tile::queryStages> queryRing;

    int current = 0; // the stage of the query tile whose scores are computed now
    int keyTile = -1;
    int row = 0;           // the first of this thread's two
    int alwaysSeen = 0;    // keys from here on are hidden from some row of the tile
    int leaving = kNoTile; // the stage that o is leaving through

    __device__ unsigned char* rowsOf(int stage) const
    {
        return shared.query[stage] + consumer * kRowsPerConsumer * kRowBytes;
    }

    /// Goes to the next tile that has keys to look at; tiles without any are written as zeros on the way.
    /// False: no more.
    __device__ bool nextTile()
    {
        while (true) {
            wait(shared.queryFull[queryRing.stage], queryRing.parity);
            current = queryRing.stage;
            const Place& place = shared.place[current];
            if (place.keyTiles == kNoTile)
                return false;
            keyTile = place.keyTiles - 1;
            alwaysSeen = arguments.mask.keysSeenBy(place.at.queryTile * Tile::queries);
            row = place.at.queryTile * Tile::queries + consumer * kRowsPerConsumer + rowInConsumer();
            queryRing.advance();
            if (keyTile >= 0)
                return true;
            State empty;
            empty.clearOutput();
            empty.clearSoftmax();
            store(current, empty, empty.max, empty.sum);
            finishStore();
        }
    }

    /// Sends this warpgroup's rows of o through shared memory to global memory.
    __device__ void store(int stage, State& state, const float (&rowMax)[2], const float (&rowSum)[2])
    {
        const TilePosition at = shared.place[stage].at;
        const std::int64_t firstRowOfHead =
            (std::int64_t{at.batch} * arguments.order.heads + at.head) * arguments.mask.queries;
        const int firstRow = at.queryTile * Tile::queries + consumer * kRowsPerConsumer;
        unsigned char* rows = rowsOf(stage);
        state.finish(arguments.mask.queries, arguments.scaleLog2, rowMax, rowSum, rows,
                     firstRow + rowInConsumer(), arguments.logSumExp + firstRowOfHead);
        fenceAsyncProxy();
        namedWait(8 + consumer, kWarpgroup);
        if (threadIdx.x % kWarpgroup == 0) {
#pragma unroll
            for (int panel = 0; panel < Tile::panels; ++panel)
                storeBox(outputMap, rows + panel * Tile::queries * kRowBytes, panel * kPanelColumns, firstRow,
                         at.head, at.batch);
            commitStores();
        }
        leaving = stage;
    }

    /// Gives the place that o left through back to the producer; a step after store(), when it has long been
    /// read.
    __device__ void finishStore()
    {
        if (leaving != kNoTile && threadIdx.x % kWarpgroup == 0) {
            waitStoresRead();
            arrive(shared.queryEmpty[leaving]);
        }
        leaving = kNoTile;
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
        while (nextTile() && walk()) {
        }
    }

    /// From the present tile on, as far as there is room for the q of a next one.
    /// False: there are no more tiles.
    __device__ bool walk()
    {
        constexpr bool kGoesOn = Tile::queryStages > 1;
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
        int finished = 0;
        float finishedMax[2], finishedSum[2];
#pragma unroll 1
        while (true) {
            const bool last = keyTile == 0;
            --keyTile;
            if (last) {
                finished = current; // what P and o belong to, before nextTile() moves on
                finishStore();
            }
            if (last && (!kGoesOn || !nextTile())) {
                wait(shared.valueFull[valueRing.stage], valueRing.parity);
                pin(state.output);
                pin(state.weights);
                fenceProducts();
                state.multiplyValues(valueOperand());
                commitProducts();
                waitProducts<0>();
                pin(state.output);
                release(shared.valueEmpty[valueRing.stage]);
                valueRing.advance();
                store(finished, state, state.max, state.sum);
                finishStore();
                return !kGoesOn;
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
            finishStore();

            waitProducts<1>();
            pin(scores);
            release(shared.keyEmpty[keyRing.stage]);
            keyRing.advance();
            if ((keyTile + 1) * Tile::keys > alwaysSeen)
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
            // before the softmax that they should hide. (At head dim 256 it finds no registers with it.)
            if constexpr (Tile::headDim <= 128)
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
        for (int stage = 0; stage < Tile::queryStages; ++stage) {
            initBarrier(shared.queryFull[stage], 1);
            initBarrier(shared.queryEmpty[stage], Tile::consumers);
        }
        for (int stage = 0; stage < Tile::stages; ++stage) {
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
    constexpr auto kernel = attentionForward<Tile, Element>;
    constexpr int bytes = sizeof(SharedMemory<Tile>);
    if (const cudaError_t error = allowSharedMemory<kernel>(bytes); error != cudaSuccess)
        return error;
    const int grid = std::min(arguments.order.tiles, currentDeviceFacts().multiprocessors);
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
    if (shape.headDim % 8 != 0)
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
    // Under a causal mask fewer rows hide fewer scores: 128 cost 26 % less than 192 at 512 rows.
    if (shape.headDim <= 64)
        return problem.causal && shape.queries <= 1024 ? launchFor<64, 2, 128>(problem, tensors, stream)
                                                       : launchFor<64, 3, 128>(problem, tensors, stream);
    if (shape.headDim <= 96)
        return launchFor<96, 2, 128>(problem, tensors, stream);
    // o alone takes 128 of the 240 registers, q 64 KB.
    if (shape.headDim > 128)
        return launchFor<256, 2, 80>(problem, tensors, stream);
    return shape.keys < (problem.causal ? 8192 : 2048) ? launchFor<128, 2, 128>(problem, tensors, stream)
                                                       : launchFor<128, 2, 160>(problem, tensors, stream);
}

} // namespace tilescope::kernels::hopper
