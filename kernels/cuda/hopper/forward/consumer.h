#pragma once

#include "kernels/cuda/hopper/forward/rows.h"
#include "kernels/cuda/hopper/forward/tile.h"

/// The consumers of the forward kernels: warpgroups with 64 rows each.
namespace tilescope::kernels::hopper {

/// Ping-pong scheduling: consumers issue their products one after another, so that the softmax of one
/// overlaps with the products of the other.
template <int Consumers> struct PingPongBarrier {
    int consumer;
    __device__ void wait() const { namedWait(1 + consumer, 2 * kWarpgroup); }
    __device__ void signalNext() const { namedArrive(1 + (consumer + 1) % Consumers, 2 * kWarpgroup); }
};

/// One consumer warpgroup. Products do not pause at the end of a tile: the first q k^T of the next tile is
/// issued before the last P v of this one.
///
/// \tparam State  a thread's part of its rows: ForwardRows, Tf32Rows or Fp8Rows
template <class Tile, class State> struct ForwardConsumer {
    using Element = typename State::Element;

    const CUtensorMap& outputMap;
    const ForwardArguments& arguments;
    ForwardMemory<Tile>& shared;
    static constexpr int kProducers = Tile::threads / kWarpgroup - Tile::consumers; ///< warpgroups before it
    const int consumer =
        __shfl_sync(~0U, threadIdx.x / kWarpgroup, 0) - kProducers; // uniform, also for the compiler
    const PingPongBarrier<Tile::consumers> pingPong{consumer};
    RingPosition<Tile::stages> keyRing{}, valueRing{};
    RingPosition<Tile::queryStages> queryRing{};

    // A warp's 16 rows belong to one head.
    const int warpRow = consumer * kRowsPerConsumer + threadIdx.x % kWarpgroup / 32 * 16;
    const int headInTile = warpRow / arguments.rowsPerHead;
    const int rowInHead = warpRow % arguments.rowsPerHead + threadIdx.x % 32 / 4;

    int current = 0; // stage of the query tile whose scores are being computed
    int keyTile = 0;
    int keyTileCount = 0;
    int row = 0;                       // the first of this thread's two
    int alwaysSeen = 0;                // keys that every row of the tile sees
    int storing = kNoTile;             // the stage from which o is being stored
    typename State::Scaling scaling{}; // of the current tile's scores

    __device__ unsigned char* rowsOf(int stage) const
    {
        return shared.query[stage] + consumer * kRowsPerConsumer * kRowBytes;
    }

    /// Goes to the next tile whose rows see any key. Writes zeros for tiles whose rows see none. False if
    /// there are no more tiles.
    __device__ bool nextTile()
    {
        while (true) {
            wait(shared.queryFull[queryRing.stage], queryRing.parity);
            current = queryRing.stage;
            const WorkTile& workTile = shared.workTile[current];
            if (workTile.keyTiles == kNoTile)
                return false;
            keyTile = 0;
            keyTileCount = workTile.keyTiles;
            alwaysSeen = arguments.mask.keysSeenBy(workTile.at.queryTile * arguments.rowsPerHead);
            row = workTile.at.queryTile * arguments.rowsPerHead + rowInHead;
            queryRing.advance();
            scaling.startTile(arguments, workTile.at, headInTile, row);
            if (keyTileCount > 0)
                return true;
            State empty;
            empty.clearOutput();
            empty.clearSoftmax();
            float inverse[2];
            finishSoftmax(empty, inverse);
            store(current, empty, inverse);
            finishStore();
        }
    }

    /// Writes the log-sum-exp of this thread's rows of the current tile.
    __device__ void finishSoftmax(const State& state, float (&inverse)[2]) const
    {
        const TileCoordinate at = shared.workTile[current].at;
        const std::int64_t head =
            at.batch * arguments.queryHeads + at.head * arguments.packedHeads + headInTile;
        state.finishSoftmax(arguments.mask.queries, row, arguments.logSumExp + head * arguments.mask.queries,
                            inverse);
    }

    /// Stores this warpgroup's rows of o through shared memory.
    __device__ void store(int stage, const State& state, const float (&inverse)[2])
    {
        const TileCoordinate at = shared.workTile[stage].at;
        unsigned char* rows = rowsOf(stage);
        state.writeOutput(rows, inverse);
        fenceAsyncProxy();
        namedWait(8 + consumer, kWarpgroup);
        if (threadIdx.x % kWarpgroup == 0) {
#pragma unroll 1
            for (int i = 0; i < kRowsPerConsumer; i += arguments.rowsPerStore) {
                const int rowInTile = consumer * kRowsPerConsumer + i;
                const int rowOfHead =
                    at.queryTile * arguments.rowsPerHead + rowInTile % arguments.rowsPerHead;
                const int head = at.head * arguments.packedHeads + rowInTile / arguments.rowsPerHead;
#pragma unroll
                for (int panel = 0; panel < Tile::outputPanels; ++panel)
                    storeBox(outputMap, rows + (panel * Tile::queries + i) * kRowBytes,
                             panel * Tile::outputPanelColumns, rowOfHead, head, at.batch);
            }
            commitStores();
        }
        storing = stage;
    }

    /// Releases the stage that store() used to the producer. Called a step later, when TMA has long read it.
    __device__ void finishStore()
    {
        if (storing != kNoTile && threadIdx.x % kWarpgroup == 0) {
            waitStoresRead();
            arrive(shared.queryEmpty[storing]);
        }
        storing = kNoTile;
    }

    /// Whether the mask hides a key of the current key tile from any row.
    __device__ bool masked() const
    {
        return (keyTile + 1) * Tile::keys > alwaysSeen;
    }

    /// Whether the first key tile is masked. Then rows may not have seen any key before a later key tile.
    __device__ bool firstMasked() const
    {
        return Tile::keys > alwaysSeen;
    }

    __device__ typename State::Seen seen() const
    {
        return State::seen(arguments.mask, row, keyTile * Tile::keys);
    }

    /// Computes the scores of the current key tile again.
    __device__ void recomputeScores(typename State::Scores& scores) const
    {
        const TileCoordinate at = shared.workTile[current].at;
        const int firstKey = keyTile * Tile::keys;
        const auto& keys = arguments.keys;
        const Element* first = static_cast<const Element*>(keys.data) + at.batch * keys.batchStride +
                               at.head / arguments.tilesPerKeyHead * keys.headStride +
                               firstKey * keys.rowStride;
        State::recomputeScores(scores, rowsOf(current), first, keys.rowStride, arguments.mask.keys - firstKey,
                               arguments.headDim);
    }

    __device__ std::uint64_t queryOperand() const
    {
        std::uint32_t address = sharedAddress(rowsOf(current));
        // With one stage this is constant, and the compiler would keep it and its offsets in registers.
        if constexpr (Tile::queryStages == 1)
            asm volatile("" : "+r"(address));
        return matrixDescriptor(address);
    }
    __device__ std::uint64_t keyOperand() const
    {
        return matrixDescriptor(sharedAddress(shared.key[keyRing.stage]));
    }
    __device__ std::uint64_t valueOperand() const
    {
        return State::valueOperand(sharedAddress(shared.value[valueRing.stage]));
    }

    __device__ void run()
    {
        if (consumer == Tile::consumers - 1)
            pingPong.signalNext();
        while (nextTile() && processTiles()) {
        }
    }

    /// Exponentials of the scores of the current key tile with the present offset, or with one that is easily
    /// chosen. False if a row needs its largest score instead.
    /// \param rescale  factor for the output after the products in flight
    __device__ bool exponentiate(State& state, typename State::Scores& scores, bool fresh,
                                 [[maybe_unused]] float (&rescale)[2]) const
    {
        if constexpr (State::kFollowsLargest) {
            if (masked())
                State::hide(scores, seen());
            state.exponentiate(scores, scaling.of(arguments), rescale);
            return true;
        } else {
            if (firstMasked())
                return false;
            if (fresh)
                state.chooseOffset(scores, scaling.of(arguments));
            if (Tile::skipsHidden && masked())
                return state.template exponentiateWithOffset<true>(scores, scaling.of(arguments), seen());
            if (!Tile::skipsHidden && masked())
                State::hide(scores, seen());
            return state.template exponentiateWithOffset<false>(scores, scaling.of(arguments), {});
        }
    }

    /// The tile's last product, without another one in flight.
    __device__ void addLastValues(State& state)
    {
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
    }

    /// Computes the current tile and, if there are stages for the q of further tiles, all following ones.
    /// False if there are no more tiles.
    __device__ bool processTiles()
    {
        constexpr bool kGoesOn = Tile::queryStages > 1;
        State state;
        state.clearOutput();
        state.clearSoftmax();
        {
            typename State::Scores scores;
            scaling.startStep(keyTile);
            wait(shared.keyFull[keyRing.stage], keyRing.parity);
            fenceProducts();
            State::multiplyKeys(scores, queryOperand(), keyOperand());
            commitProducts();
            waitProducts<0>();
            pin(scores);
            release(shared.keyEmpty[keyRing.stage]);
            keyRing.advance();
            if (masked())
                State::hide(scores, seen());
            float rescale[2];
            state.exponentiate(scores, scaling.of(arguments), rescale);
            state.packWeights(scores);
        }
        int finished = 0;
        float inverse[2]; // of the finished tile's row sums
#pragma unroll 1
        while (true) {
            const bool last = ++keyTile == keyTileCount;
            if (last) {
                finished = current; // the tile of P and o; nextTile() changes current
                finishSoftmax(state, inverse);
                finishStore();
            }
            if (last && (!kGoesOn || !nextTile())) {
                addLastValues(state);
                store(finished, state, inverse);
                finishStore();
                return !kGoesOn;
            }

            // A new variable, because a product that starts from zero must not seem to read the old scores.
            typename State::Scores scores;
            scaling.startStep(keyTile);
            wait(shared.keyFull[keyRing.stage], keyRing.parity);
            pingPong.wait();
            pin(state.output);
            pin(state.weights);
            fenceProducts();
            State::multiplyKeys(scores, queryOperand(), keyOperand());
            commitProducts();
            wait(shared.valueFull[valueRing.stage], valueRing.parity);
            fenceProducts();
            state.multiplyValues(valueOperand());
            commitProducts();
            pingPong.signalNext();
            finishStore();

            waitProducts<1>();
            pin(scores);
            release(shared.keyEmpty[keyRing.stage]);
            keyRing.advance();
            if (last)
                state.clearSoftmax();
            float rescale[2];
            [[maybe_unused]] const bool done = exponentiate(state, scores, last, rescale);
            // Never taken. Without a branch that depends on the sums, ptxas moves the wait for the products
            // before the softmax that they should hide. At head dim 256 there are no registers for it.
            if constexpr (kGoesOn)
                if (state.sum[0] + state.sum[1] < 0)
                    __trap();

            waitProducts<0>();
            pin(state.output);
            pin(state.weights);
            release(shared.valueEmpty[valueRing.stage]);
            valueRing.advance();
            if (last) {
                store(finished, state, inverse);
                state.clearOutput();
            }
            if constexpr (State::kFollowsLargest) {
                state.rescaleOutput(rescale);
            } else if (!done) {
                if (!firstMasked())
                    recomputeScores(scores);
                State::hide(scores, seen());
                state.exponentiate(scores, scaling.of(arguments), rescale);
                state.rescaleOutput(rescale);
            }
            state.packWeights(scores);
        }
    }
};

} // namespace tilescope::kernels::hopper
