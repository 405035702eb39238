#pragma once

#include "kernels/cuda/hopper/backward/tf32_consumer.h"

/// The two consumer warpgroups of the TF32 backward kernel above head dim 64. They share 64 keys. The first
/// computes S, P, gradV and gradQ; the second dP, dS and gradK, with v in its registers. Thread t of both
/// holds the same keys and queries, so that P is passed thread by thread; dS is passed back as rows of
/// queries.
///
///     gradV's: exp S(j) | write P(j) | dV(j)  | wait for dS(j) | dQ(j), S(j+1) | add dQ(j)
///     gradK's: dK(j-1)  | dP(j)      | wait for P(j) | write dS(j) | dK(j)
///
/// Shared memory holds one P and one dS. The first writes P(j+1) after it has waited for dS(j), which the
/// second writes after reading P(j). The second writes dS(j+1) after it has waited for P(j+1), which follows
/// dQ(j).
namespace tilescope::kernels::hopper {

/// A thread's part of P^T in shared memory. Its next four numbers are kWarpgroup elements later.
template <class Tile> __device__ float4* weightsOfThread(Tf32BackwardMemory<Tile>& shared)
{
    return reinterpret_cast<float4*>(shared.scores[0]) + threadIdx.x % kWarpgroup;
}

template <class Tile> struct Tf32BackwardValueConsumer : Tf32BackwardConsumer<Tile> {
    using Base = Tf32BackwardConsumer<Tile>;
    using Base::arguments, Base::shared, Base::ring, Base::transposedRing, Base::number;
    using typename Base::Gradient, typename Base::Operand, typename Base::Scores;

    Gradient grad;

    __device__ Tf32BackwardValueConsumer(const Tf32BackwardArguments& all, Tf32BackwardMemory<Tile>& memory)
        : Base(all, memory, 0)
    {
    }

    __device__ void run()
    {
        while (this->nextTile()) {
            Base::clear(grad);
            wait(shared.keyFull, number & 1);
            processQueries(QueryTileIterator(arguments, this->workTile()));
            // P and dS of the last step have been read: v may overwrite them.
            fenceAsyncProxy();
            release(shared.keyEmpty);
            this->writeGradient(grad, arguments.gradValue, 1);
            this->releaseTile();
        }
    }

    __device__ void processQueries(QueryTileIterator queryTile)
    {
        const int firstKey = this->firstKey();
        Scores scores;
        wait(shared.queryFull[ring.stage()], ring.parity());
        fenceProducts();
        this->multiplyKeys(scores);
        commitProducts();
        waitProducts<0>();
        pin(scores);
        release(shared.queryEmpty[ring.stage()]);
        namedWait(kValuesLoaded, Base::kBoth);
        wait(shared.keyTransposedFull, number & 1);
#pragma unroll 1
        while (true) {
            BackwardScores<Tile, float>::hide(scores, arguments.mask, firstKey,
                                              queryTile.tile * Tile::queries);
            this->exponentiate(scores, shared.logSumExp2[ring.longer]);
#pragma unroll
            for (int i = 0; i < Base::kScores; i += 4)
                weightsOfThread(shared)[i / 4 * kWarpgroup] =
                    make_float4(scores[i], scores[i + 1], scores[i + 2], scores[i + 3]);
            namedArrive(kWeightsWritten, Base::kBoth);
            Operand weights;
            Base::packWeights(scores, weights);

            const int stage = transposedRing.stage();
            wait(shared.gradTransposedFull[stage], transposedRing.parity());
            pin(weights);
            pin(grad);
            fenceProducts();
            Base::accumulate(grad, weights, shared.gradOTransposed[stage]);
            commitProducts();
            namedWait(kScoresWritten, Base::kBoth);
            Gradient gradQuery;
            fenceProducts();
            this->multiplyGradQuery(gradQuery, shared.scores[1]);
            commitProducts();
            waitProducts<1>();
            pin(grad);
            pin(weights);
            release(shared.gradTransposedEmpty[stage]);
            transposedRing.advance();

            const int tile = queryTile.index;
            queryTile.advance();
            const bool last = !queryTile.more();
            // After the last step this product uses an old tile and its result is ignored: a branch around
            // products would break the pipeline.
            Scores next;
            if (!last) {
                ring.advance();
                wait(shared.queryFull[ring.stage()], ring.parity());
            }
            fenceProducts();
            this->multiplyKeys(next);
            commitProducts();
            waitProducts<1>();
            pin(gradQuery);
            this->addGradQuery(gradQuery, tile);
            waitProducts<0>();
            pin(next);
            if (last)
                break;
            release(shared.queryEmpty[ring.stage()]);
#pragma unroll
            for (int i = 0; i < Base::kScores; ++i)
                scores[i] = next[i];
        }
        ring.advance();
    }
};

template <class Tile> struct Tf32BackwardKeyConsumer : Tf32BackwardConsumer<Tile> {
    using Base = Tf32BackwardConsumer<Tile>;
    using Base::arguments, Base::shared, Base::ring, Base::transposedRing;
    using typename Base::Operand, typename Base::Scores;

    typename Base::Gradient grad;
    typename Base::Value value;

    __device__ Tf32BackwardKeyConsumer(const Tf32BackwardArguments& all, Tf32BackwardMemory<Tile>& memory)
        : Base(all, memory, 1)
    {
    }

    __device__ void run()
    {
        while (this->nextTile()) {
            Base::clear(grad);
            this->loadValue(value);
            namedArrive(kValuesLoaded, Base::kBoth);
            const int steps = stepsOf(arguments, this->workTile());
#pragma unroll 1
            for (int step = 0; step < steps; ++step)
                processQueryTile();
            this->writeGradient(grad, arguments.gradKey, arguments.scale);
            this->releaseTile();
        }
    }

    __device__ void processQueryTile()
    {
        Operand gradWeights;
        {
            Scores gradScores;
            wait(shared.gradFull[ring.stage()], ring.parity());
            pin(value);
            fenceProducts();
            this->multiplyValue(gradScores, value);
            commitProducts();
            waitProducts<0>();
            pin(gradScores);
            pin(value);
            release(shared.gradEmpty[ring.stage()]);
            namedWait(kWeightsWritten, Base::kBoth);
            Base::differentiate(gradScores, gradWeights, shared.delta[ring.longer], shared.scores[1],
                                [&](int i) { return weightsOfThread(shared)[i * kWarpgroup]; });
            ring.advance();
        }
        fenceAsyncProxy();
        namedArrive(kScoresWritten, Base::kBoth);

        const int stage = transposedRing.stage();
        wait(shared.queryTransposedFull[stage], transposedRing.parity());
        pin(gradWeights);
        pin(grad);
        fenceProducts();
        Base::accumulate(grad, gradWeights, shared.queryTransposed[stage]);
        commitProducts();
        waitProducts<0>();
        pin(grad);
        pin(gradWeights);
        release(shared.queryTransposedEmpty[stage]);
        transposedRing.advance();
    }
};

} // namespace tilescope::kernels::hopper
