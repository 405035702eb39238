#pragma once

#include "kernels/cuda/hopper/backward/tf32_consumer.h"

namespace tilescope::kernels::hopper {

/// One of two consumer warpgroups of the TF32 backward kernel up to head dim 64. It owns 64 of the tile's 128
/// keys, keeps v and both gradients of them in registers, and adds their part of gradQ. The two share only
/// the loaded and transposed tiles: neither waits for the other within a tile.
///
///     products in flight | other work
///     S, dP              | exponentials, after S
///     dP, dV             | (waits for dP)
///     dV                 | dS to shared memory
///     dQ, dK             | (waits for dQ) adds dQ to global memory
template <class Tile> struct Tf32BackwardSingleConsumer : Tf32BackwardConsumer<Tile> {
    using Base = Tf32BackwardConsumer<Tile>;
    using Base::arguments, Base::shared, Base::ring, Base::transposedRing, Base::number, Base::consumer;
    using typename Base::Gradient, typename Base::Operand, typename Base::Scores;

    Gradient gradKey, gradValue;
    typename Base::Value value;

    using Base::Base;

    __device__ void run()
    {
        while (this->nextTile()) {
            Base::clear(gradKey);
            Base::clear(gradValue);
            this->loadValue(value);
            namedWait(kValuesLoaded, Base::kBoth); // dS overwrites the v of both
            wait(shared.keyFull, number & 1);
            wait(shared.keyTransposedFull, number & 1);
            const int firstKey = this->firstKey();
#pragma unroll 1
            for (QueryTileIterator queryTile(arguments, this->workTile()); queryTile.more();
                 queryTile.advance())
                processQueryTile(firstKey, queryTile);
            release(shared.keyEmpty);
            this->writeGradient(gradKey, arguments.gradKey, arguments.scale);
            this->writeGradient(gradValue, arguments.gradValue, 1);
            this->releaseTile();
        }
    }

    __device__ void processQueryTile(int firstKey, const QueryTileIterator& queryTile)
    {
        const int stage = ring.stage();
        const int transposedStage = transposedRing.stage();
        Scores scores, gradScores;
        Operand weights, gradWeights;
        Gradient gradQuery;

        wait(shared.queryFull[stage], ring.parity());
        pin(gradKey);
        pin(gradValue);
        pin(value);
        fenceProducts();
        this->multiplyKeys(scores);
        commitProducts();
        wait(shared.gradFull[stage], ring.parity());
        fenceProducts();
        this->multiplyValue(gradScores, value);
        commitProducts();

        waitProducts<1>();
        pin(scores);
        release(shared.queryEmpty[stage]);
        BackwardScores<Tile, float>::hide(scores, arguments.mask, firstKey, queryTile.tile * Tile::queries);
        this->exponentiate(scores, shared.logSumExp2[ring.longer]);
        Base::packWeights(scores, weights);
        wait(shared.gradTransposedFull[transposedStage], transposedRing.parity());
        pin(weights);
        fenceProducts();
        Base::accumulate(gradValue, weights, shared.gradOTransposed[transposedStage]);
        commitProducts();

        waitProducts<1>();
        pin(gradScores);
        pin(value);
        release(shared.gradEmpty[stage]);
        namedWait(consumerBarrier(consumer), kWarpgroup); // every warp has finished with the previous dS
        Base::differentiate(
            gradScores, gradWeights, shared.delta[ring.longer], shared.scores[consumer], [&](int i) {
                return make_float4(scores[4 * i], scores[4 * i + 1], scores[4 * i + 2], scores[4 * i + 3]);
            });
        fenceAsyncProxy();
        namedWait(consumerBarrier(consumer), kWarpgroup);
        wait(shared.queryTransposedFull[transposedStage], transposedRing.parity());
        pin(gradWeights);
        fenceProducts();
        this->multiplyGradQuery(gradQuery, shared.scores[consumer]);
        commitProducts();
        Base::accumulate(gradKey, gradWeights, shared.queryTransposed[transposedStage]);
        commitProducts();

        waitProducts<1>();
        pin(gradQuery);
        pin(gradValue);
        pin(weights);
        release(shared.gradTransposedEmpty[transposedStage]);
        this->addGradQuery(gradQuery, queryTile.index);
        waitProducts<0>();
        pin(gradKey);
        pin(gradWeights);
        release(shared.queryTransposedEmpty[transposedStage]);
        ring.advance();
        transposedRing.advance();
    }
};

} // namespace tilescope::kernels::hopper
