#pragma once

#include "kernels/cuda/hopper/forward/rows.h"
#include "kernels/cuda/hopper/forward/tile.h"

/// The forward kernel's arithmetic: warpgroups of 64 rows each.
namespace tilescope::kernels::hopper {

/// Consumers issue their products in turn: number w waits for its barrier, w + 1 is let go.
template <int Consumers> struct Turn {
    int consumer;
    __device__ void take() const { namedWait(1 + consumer, 2 * kWarpgroup); }
    __device__ void pass() const { namedArrive(1 + (consumer + 1) % Consumers, 2 * kWarpgroup); }
};

/// One consumer warpgroup's walk over the tiles. Products never pause at the end of a tile: the first q k^T
/// of the next one is issued before the last P v of this one.
///
/// \tparam State  what a thread holds of its rows: ForwardRows or Tf32Rows
template <class Tile, class State> struct ForwardConsumer {
    using Element = typename State::Element;

    const CUtensorMap& outputMap;
    const ForwardArguments& arguments;
    ForwardMemory<Tile>& shared;
    static constexpr int kProducers = Tile::threads / kWarpgroup - Tile::consumers; ///< warpgroups before it
    const int consumer =
        __shfl_sync(~0U, threadIdx.x / kWarpgroup, 0) - kProducers; // so that the compiler sees it is uniform
    const Turn<Tile::consumers> turn{consumer};
    RingPosition<Tile::stages> keyRing{}, valueRing{};
    RingPosition<Tile::queryStages> queryRing{};

    // A warp's 16 rows belong to one head.
    const int warpRow = consumer * kRowsPerConsumer + threadIdx.x % kWarpgroup / 32 * 16;
    const int headInTile = warpRow / arguments.rowsPerHead;
    const int rowInHead = warpRow % arguments.rowsPerHead + threadIdx.x % 32 / 4;

    int current = 0; // the stage of the query tile whose scores are computed now
    int keyTile = 0;
    int keyTileCount = 0;
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
            keyTile = 0;
            keyTileCount = place.keyTiles;
            alwaysSeen = arguments.mask.keysSeenBy(place.at.queryTile * arguments.rowsPerHead);
            row = place.at.queryTile * arguments.rowsPerHead + rowInHead;
            queryRing.advance();
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

    /// Writes the log-sum-exp of this thread's rows of the present tile.
    __device__ void finishSoftmax(const State& state, float (&inverse)[2]) const
    {
        const TilePosition at = shared.place[current].at;
        const std::int64_t head =
            at.batch * arguments.queryHeads + at.head * arguments.packedHeads + headInTile;
        state.finishSoftmax(arguments.mask.queries, row, arguments.logSumExp + head * arguments.mask.queries,
                            inverse);
    }

    /// Sends this warpgroup's rows of o through shared memory to global memory.
    __device__ void store(int stage, const State& state, const float (&inverse)[2])
    {
        const TilePosition at = shared.place[stage].at;
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
                for (int panel = 0; panel < Tile::panels; ++panel)
                    storeBox(outputMap, rows + (panel * Tile::queries + i) * kRowBytes,
                             panel * Tile::panelColumns, rowOfHead, head, at.batch);
            }
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

    /// Whether some row of the tile does not see all keys of the present key tile.
    __device__ bool masked() const
    {
        return (keyTile + 1) * Tile::keys > alwaysSeen;
    }

    /// Masked key tiles are a tile's last ones. Where the first is one, rows may not have seen a key when a
    /// later one comes.
    __device__ bool firstMasked() const
    {
        return Tile::keys > alwaysSeen;
    }

    __device__ typename State::Seen seen() const
    {
        return State::seen(arguments.mask, row, keyTile * Tile::keys);
    }

    /// The scores of the present key tile once more.
    __device__ void multiplyKeysAlone(typename State::Scores& scores) const
    {
        const TilePosition at = shared.place[current].at;
        const int firstKey = keyTile * Tile::keys;
        const auto& keys = arguments.keys;
        const Element* first = static_cast<const Element*>(keys.data) + at.batch * keys.batchStride +
                               at.head / arguments.tilesPerKeyHead * keys.headStride +
                               firstKey * keys.rowStride;
        State::multiplyKeysAlone(scores, rowsOf(current), first, keys.rowStride,
                                 arguments.mask.keys - firstKey, arguments.headDim);
    }

    __device__ std::uint64_t queryOperand() const
    {
        std::uint32_t address = sharedAddress(rowsOf(current));
        // With one stage it never changes: kept from being held in registers for each of its parts.
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
            turn.pass();
        while (nextTile() && walk()) {
        }
    }

    /// Exponentials of the scores of the present key tile, where an offset is at hand or easily chosen.
    /// False: not done, a row's largest score must be found.
    /// \param shrink  what the output must be multiplied with after the products under way
    __device__ bool exponentiate(State& state, typename State::Scores& scores, bool fresh,
                                 [[maybe_unused]] float (&shrink)[2]) const
    {
        if constexpr (State::kFollowsLargest) {
            if (masked())
                State::hide(scores, seen());
            state.exponentiate(scores, arguments.scaleLog2, shrink);
            return true;
        } else {
            if (firstMasked())
                return false;
            if (fresh)
                state.chooseOffset(scores, arguments.scaleLog2);
            if (Tile::skipsHidden && masked())
                return state.template exponentiateAsChosen<true>(scores, arguments.scaleLog2, seen());
            if (!Tile::skipsHidden && masked())
                State::hide(scores, seen());
            return state.template exponentiateAsChosen<false>(scores, arguments.scaleLog2, {});
        }
    }

    /// The tile's last product, with no other beside it.
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

    /// From the present tile on, as far as there is room for the q of a next one.
    /// False: there are no more tiles.
    __device__ bool walk()
    {
        constexpr bool kGoesOn = Tile::queryStages > 1;
        State state;
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
            if (masked())
                State::hide(scores, seen());
            float shrink[2];
            state.exponentiate(scores, arguments.scaleLog2, shrink);
            state.packWeights(scores);
        }
        int finished = 0;
        float inverse[2]; // of the finished tile's row sums
#pragma unroll 1
        while (true) {
            const bool last = ++keyTile == keyTileCount;
            if (last) {
                finished = current; // what P and o belong to, before nextTile() moves on
                finishSoftmax(state, inverse);
                finishStore();
            }
            if (last && (!kGoesOn || !nextTile())) {
                addLastValues(state);
                store(finished, state, inverse);
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
            if (last)
                state.clearSoftmax();
            float shrink[2];
            [[maybe_unused]] const bool done = exponentiate(state, scores, last, shrink);
            // Never taken. Without a branch that hangs on the sums ptxas puts the wait for the products
            // before the softmax that they should hide. (At head dim 256 it finds no registers with it.)
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
                state.shrinkOutput(shrink);
            } else if (!done) {
                if (!firstMasked())
                    multiplyKeysAlone(scores);
                State::hide(scores, seen());
                state.exponentiate(scores, arguments.scaleLog2, shrink);
                state.shrinkOutput(shrink);
            }
            state.packWeights(scores);
        }
    }
};

} // namespace tilescope::kernels::hopper
