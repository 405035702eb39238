#pragma once

#include "kernels/cuda/hopper/backward/scores.h"

/// The two consumer warpgroups of head dims above 128. They share 64 keys, and because a gradient of 256
/// columns takes 128 registers per thread, each owns one gradient. The first computes S, P and gradV, the
/// second dP, dS and gradK, and each half of gradQ. Thread t of both holds the same keys and queries, so that
/// P is passed thread by thread.
///
///     gradV's: exp S(j) | write P(j) | issue S(j+1), dV(j)     | wait for dS(j) | dQ(j), columns 0 to 127
///     gradK's: dP(j)    | wait for P(j) | write dS(j) | dQ(j), columns 128 to 255, and dK(j)
///
/// Shared memory holds one P and one dS. The first writes P(j+1) after it has waited for dS(j), which the
/// second writes after reading P(j). The second writes dS(j+1) after it has waited for P(j+1), which follows
/// the first's dQ(j).
namespace tilescope::kernels::hopper {

/// The common part of both.
template <class Tile, class Element> struct BackwardWideConsumer : BackwardScores<Tile, Element> {
    using Base = BackwardScores<Tile, Element>;
    using QueryValues = typename Base::template QueryValues<1>;
    using Scores = typename Base::Scores;
    using Packed = typename Base::Packed;
    static constexpr int kGrads = Tile::headDim / 2;
    static constexpr int kBoth = kBackwardConsumers * kWarpgroup;

    const BackwardArguments& arguments;
    BackwardShared<Tile>& shared;
    const int consumer;
    float grad[kGrads];
    unsigned number = 0;           // of the tile of keys; k and v have one stage each
    typename Tile::QueryRing ring; // of q and of gradO

    __device__ BackwardWideConsumer(const BackwardArguments& all, BackwardShared<Tile>& memory, int which)
        : arguments(all), shared(memory), consumer(which)
    {
    }

    __device__ const BackwardWorkTile& workTile() const
    {
        return shared.workTile[ringAt<kWorkTileStages>(number).stage];
    }

    /// Waits for the next tile of keys. False: there are no more.
    __device__ bool nextTile()
    {
        const auto workTileRing = ringAt<kWorkTileStages>(number);
        const std::uint32_t parity = ringAt<1>(number).parity;
        wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
        if (workTile().keyTile < 0)
            return false;
        wait(shared.keyFull[0], parity);
        wait(shared.valueFull[0], parity);
#pragma unroll
        for (int i = 0; i < kGrads; ++i)
            grad[i] = 0;
        return true;
    }

    /// Writes this consumer's gradient over `rows`, which are no longer read, to be stored.
    __device__ void finishTile(unsigned char* rows)
    {
        writeGradient<Tile, Element>(grad, rows);
        sendGradients(consumer);
        ++number;
    }

    __device__ static std::uint64_t operand(const unsigned char* tile)
    {
        return matrixDescriptor(recomputedAddress(tile));
    }
    __device__ std::uint32_t* weightsOfThread() const
    {
        return reinterpret_cast<std::uint32_t*>(shared.gradScores[1]) + threadIdx.x % kWarpgroup * 4;
    }

    /// grad += weights rows, 64 keys x 64 queries times queries x head dim. Asynchronous.
    __device__ void accumulate(const Packed& weights, const unsigned char* rows)
    {
        auto& left = reinterpret_cast<float(&)[64]>(grad);
        auto& right = reinterpret_cast<float(&)[64]>(grad[64]);
        const std::uint64_t tile = matrixDescriptor(recomputedAddress(rows), Tile::queries * kRowBytes);
#pragma unroll
        for (int step = 0; step < Tile::queries / 16; ++step) {
            const std::uint64_t at = advance(tile, step * 16 * kRowBytes);
            productFromRegisters<Element>(left, weights + 4 * step, at);
            productFromRegisters<Element>(right, weights + 4 * step,
                                          advance(at, 2 * Tile::queries * kRowBytes));
        }
    }

    /// A piece of dS k: 64 queries x 64 columns. Asynchronous.
    __device__ void multiplyGradQuery(float (&gradQuery)[32], int piece) const
    {
        const std::uint64_t scores = operand(shared.gradScores[0]);
        const std::uint64_t keys =
            advance(operand(shared.key[0]), (2 * consumer + piece) * Tile::keys * kRowBytes);
#pragma unroll
        for (int step = 0; step < Tile::keys / 16; ++step)
            productOfTransposed<Element>(gradQuery, advance(scores, step * 16 * kRowBytes),
                                         advance(keys, step * 16 * kRowBytes), step > 0);
    }

    /// Adds one of this consumer's two pieces to global memory.
    /// \param tile  of queries, among those of all heads
    __device__ void addGradQuery(const float (&gradQuery)[32], int tile, int piece) const
    {
        const GradQueryPiece part =
            GradQueryPiece::of(2 * consumer + piece, recomputedValue(arguments.headDim), Tile::queries);
        // Tested here, because ptxas 13.0 took the branch for a null pointer if the result was kept over the
        // loop.
        unsigned* semaphores = recomputedValue(arguments.workspace.semaphores);
        unsigned* semaphore = semaphores ? semaphores + tile : nullptr;
        if (semaphore && piece == 0) {
            if (threadIdx.x % kWarpgroup == 0)
                waitForSemaphore(semaphore, workTile().keyTile * kBackwardConsumers + consumer);
            namedWait(consumerBarrier(consumer), kWarpgroup);
        }
        float* sums = arguments.workspace.gradQuery + std::int64_t{tile} * Tile::queries * arguments.headDim +
                      part.offset(arguments.headDim) + threadIdx.x % kWarpgroup * 4;
#pragma unroll
        for (int chunk = 0; chunk < 8; ++chunk)
            if (chunk * 8 < part.columns)
                addFourFloats(sums + chunk * kWarpgroup * 4, gradQuery[4 * chunk], gradQuery[4 * chunk + 1],
                              gradQuery[4 * chunk + 2], gradQuery[4 * chunk + 3]);
        if (semaphore && piece == 1) {
            __threadfence();
            namedWait(consumerBarrier(consumer), kWarpgroup);
            if (threadIdx.x % kWarpgroup == 0)
                atomicAdd(semaphore, 1U);
        }
    }
};

template <class Tile, class Element> struct BackwardValueConsumer : BackwardWideConsumer<Tile, Element> {
    using Base = BackwardWideConsumer<Tile, Element>;
    using Base::arguments, Base::shared, Base::grad, Base::ring;

    __device__ BackwardValueConsumer(const BackwardArguments& all, BackwardShared<Tile>& memory)
        : Base(all, memory, 0)
    {
    }

    __device__ void run()
    {
        while (this->nextTile()) {
            QueryTileIterator queryTile(arguments, this->workTile());
            if (queryTile.more())
                processQueries(queryTile);
            namedArrive(kWeightsWritten,
                        Base::kBoth); // k is no longer read; v was read before the other's last dS
            this->finishTile(shared.value[0]);
        }
        namedWait(pieceRead(0), kWithStoreWarp);
    }

    __device__ void processQueries(QueryTileIterator& queryTile)
    {
        const int firstKey = this->workTile().keyTile * Tile::keys;
        typename Base::Scores scores;
        wait(shared.queryFull[ring.stage], ring.parity);
        fenceProducts();
        Base::multiply(scores, Base::operand(shared.key[0]), Base::operand(shared.query[ring.stage]));
        commitProducts();
        waitProducts<0>();
        pin(scores);
#pragma unroll 1
        while (true) {
            const int stage = ring.stage;
            const std::uint32_t parity = ring.parity;
            typename Base::Packed weights;
            Base::hide(scores, arguments.mask, firstKey, queryTile.tile * Tile::queries);
            Base::template exponentiate<1>(scores, weights, 0,
                                           typename Base::QueryValues(shared.logSumExp2[stage]),
                                           arguments.scaleLog2);
            release(shared.queryEmpty[stage]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                *reinterpret_cast<uint4*>(this->weightsOfThread() + i * kWarpgroup * 4) =
                    make_uint4(weights[4 * i], weights[4 * i + 1], weights[4 * i + 2], weights[4 * i + 3]);
            namedArrive(kWeightsWritten, Base::kBoth);

            const int tile = queryTile.index;
            queryTile.advance();
            const bool last = !queryTile.more();
            // After the last step this product uses an old tile and its result is ignored: a branch here
            // would break the pipeline.
            typename Base::Scores next;
            ring.advance();
            if (!last)
                wait(shared.queryFull[ring.stage], ring.parity);
            pin(weights);
            pin(grad);
            fenceProducts();
            Base::multiply(next, Base::operand(shared.key[0]), Base::operand(shared.query[ring.stage]));
            commitProducts();
            wait(shared.gradFull[stage], parity);
            fenceProducts();
            this->accumulate(weights, shared.gradO[stage]);
            commitProducts();
            namedWait(kScoresWritten, Base::kBoth);
            float gradQuery[32];
            fenceProducts();
            this->multiplyGradQuery(gradQuery, 0);
            commitProducts();
            waitProducts<1>();
            pin(next);
            pin(grad);
            pin(weights);
            release(shared.gradEmpty[stage]);
            waitProducts<0>();
            pin(gradQuery);
            this->addGradQuery(gradQuery, tile, 0);
            float gradQueryRest[32];
            fenceProducts();
            this->multiplyGradQuery(gradQueryRest, 1);
            commitProducts();
            waitProducts<0>();
            pin(gradQueryRest);
            this->addGradQuery(gradQueryRest, tile, 1);
            if (last)
                break;
#pragma unroll
            for (int i = 0; i < Base::kScores; ++i)
                scores[i] = next[i];
        }
    }
};

template <class Tile, class Element> struct BackwardKeyConsumer : BackwardWideConsumer<Tile, Element> {
    using Base = BackwardWideConsumer<Tile, Element>;
    using Base::arguments, Base::shared, Base::grad, Base::ring;

    __device__ BackwardKeyConsumer(const BackwardArguments& all, BackwardShared<Tile>& memory)
        : Base(all, memory, 1)
    {
    }

    __device__ void run()
    {
        while (this->nextTile()) {
#pragma unroll 1
            for (QueryTileIterator queryTile(arguments, this->workTile()); queryTile.more();
                 queryTile.advance()) {
                processQueryTile(queryTile.index);
                ring.advance();
            }
#pragma unroll
            for (int i = 0; i < Base::kGrads; ++i)
                grad[i] *= arguments.scale;
            namedWait(kWeightsWritten, Base::kBoth);
            this->finishTile(shared.key[0]);
        }
        namedWait(pieceRead(1), kWithStoreWarp);
    }

    __device__ void processQueryTile(int tile)
    {
        const int stage = ring.stage;
        typename Base::Packed gradWeights;
        {
            typename Base::Packed weights;
            typename Base::Scores gradScores;
            wait(shared.gradFull[stage], ring.parity);
            fenceProducts();
            Base::multiply(gradScores, Base::operand(shared.value[0]), Base::operand(shared.gradO[stage]));
            commitProducts();
            namedWait(kWeightsWritten, Base::kBoth);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint4 four =
                    *reinterpret_cast<const uint4*>(this->weightsOfThread() + i * kWarpgroup * 4);
                weights[4 * i] = four.x;
                weights[4 * i + 1] = four.y;
                weights[4 * i + 2] = four.z;
                weights[4 * i + 3] = four.w;
            }
            waitProducts<0>();
            pin(gradScores);
            Base::template differentiate<1>(gradScores, weights, gradWeights, 0,
                                            typename Base::QueryValues(shared.delta[stage]));
            release(shared.gradEmpty[stage]);
        }
        storeRows(shared.gradScores[0], Tile::keys, gradWeights);
        fenceAsyncProxy();
        namedArrive(kScoresWritten, Base::kBoth);
        namedWait(consumerBarrier(1), kWarpgroup);
        wait(shared.queryFull[stage], ring.parity);

        float gradQuery[32];
        pin(gradWeights);
        pin(grad);
        fenceProducts();
        this->multiplyGradQuery(gradQuery, 0);
        commitProducts();
        this->accumulate(gradWeights, shared.query[stage]);
        commitProducts();
        waitProducts<1>();
        pin(gradQuery);
        float gradQueryRest[32];
        fenceProducts();
        this->multiplyGradQuery(gradQueryRest, 1);
        commitProducts();
        this->addGradQuery(gradQuery, tile, 0);
        waitProducts<0>();
        pin(grad);
        pin(gradWeights);
        pin(gradQueryRest);
        release(shared.queryEmpty[stage]);
        this->addGradQuery(gradQueryRest, tile, 1);
    }
};

} // namespace tilescope::kernels::hopper
