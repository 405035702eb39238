#pragma once

#include "kernels/cuda/hopper/backward_tile.h"
#include "kernels/cuda/hopper/wgmma.h"

#include <cmath>

namespace tilescope::kernels::hopper {

/// One consumer warpgroup: 64 keys, whose gradients it keeps in registers while the queries pass by.
template <class Tile, class Element> struct BackwardConsumer {
    static constexpr int kScores = Tile::queries / 2; // accumulator registers of 64 keys x queries
    static constexpr int kGrads = Tile::headDim / 2;
    using Scores = float[kScores];
    using Packed = std::uint32_t[kScores / 2];

    const BackwardArguments& arguments;
    BackwardShared<Tile>& shared;
    const int consumer = threadIdx.x / kWarpgroup - 1;
    float gradKey[kGrads];
    float gradValue[kGrads];

    /// Operand: this consumer's rows of a tile of keys.
    __device__ std::uint64_t rowsOf(const unsigned char* tile) const
    {
        return matrixDescriptor(sharedAddress(tile) + consumer * kRowsPerConsumer * kRowBytes);
    }

    /// 64 rows of this consumer's keys times all queries of the tile: a b'. Asynchronous.
    __device__ static void multiply(Scores& scores, std::uint64_t keys, std::uint64_t queries)
    {
#pragma unroll
        for (int step = 0; step < Tile::headDim / 16; ++step) {
            const int panel = step / 4;
            const int within = step % 4 * 32;
            product<Element>(scores, advance(keys, panel * kBackwardKeys * kRowBytes + within),
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
                                                      (kByRows ? consumer * kBackwardKeys * kRowBytes : 0));
        const std::uint64_t keys = matrixDescriptor(sharedAddress(shared.key) +
                                                    (kByRows ? 0 : consumer * kBackwardKeys * kRowBytes));
#pragma unroll
        for (int step = 0; step < kBackwardKeys / 16; ++step)
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
        const int row = consumer * kRowsPerConsumer + rowInConsumer();
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i)
            *accumulatorPlace(shared.gradScores[buffer], kBackwardKeys, row, i) = packed[i];
    }

    __device__ void run(const CUtensorMap& gradKeyMap, const CUtensorMap& gradValueMap)
    {
        const int keyRow =
            shared.place.keyTile * kBackwardKeys + consumer * kRowsPerConsumer + rowInConsumer();
#pragma unroll
        for (int i = 0; i < kGrads; ++i)
            gradKey[i] = gradValue[i] = 0;
        wait(shared.keysFull, 0);
        typename Tile::Ring ring;
        for (int member = 0; member < arguments.queryHeadsPerKeyHead; ++member) {
#pragma unroll 1
            for (int tile = shared.place.firstQueryTile; tile < arguments.queryTiles; ++tile) {
                step(ring, keyRow, tile * Tile::queries);
                ring.advance();
            }
        }
        if (shared.place.firstQueryTile < arguments.queryTiles)
            namedWait(pieceRead(consumer), kWarpgroup + 32); // the last one
        namedWait(1, kBackwardConsumers * kWarpgroup);       // nobody reads k or v any more
#pragma unroll
        for (int i = 0; i < kGrads; ++i)
            gradKey[i] *= arguments.scale;
        storeGradient(gradKeyMap, gradKey, shared.key);
        storeGradient(gradValueMap, gradValue, shared.value);
        if (threadIdx.x % kWarpgroup == 0)
            waitStoresRead();
    }

    __device__ void step(typename Tile::Ring ring, int keyRow, int firstQuery)
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
        multiply(scores, rowsOf(shared.key), matrixDescriptor(queryAddress));
        commitProducts();
        wait(shared.gradFull[stage], ring.parity);
        fenceProducts();
        multiply(gradScores, rowsOf(shared.value), matrixDescriptor(gradAddress));
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
        storeScores(gradWeights, stage);
        fenceAsyncProxy();
        pin(gradWeights);
        namedWait(1, kBackwardConsumers * kWarpgroup);
        fenceProducts();
        multiplyGradQuery(gradQuery, stage);
        commitProducts();
        accumulate(gradKey, gradWeights, matrixDescriptor(queryAddress, Tile::queries * kRowBytes));
        commitProducts();

        waitProducts<1>();
        pin(gradQuery);
        release(shared.gradEmpty[stage]);
        namedWait(pieceRead(consumer), kWarpgroup + 32);
        auto* piece = reinterpret_cast<float4*>(shared.gradQuery[consumer]);
#pragma unroll
        for (int chunk = 0; chunk < 8; ++chunk)
            piece[chunk * kWarpgroup + threadIdx.x % kWarpgroup] =
                make_float4(gradQuery[4 * chunk], gradQuery[4 * chunk + 1], gradQuery[4 * chunk + 2],
                            gradQuery[4 * chunk + 3]);
        fenceAsyncProxy();
        namedArrive(pieceWritten(consumer), kWarpgroup + 32);
        waitProducts<0>();
        pin(gradKey);
        pin(gradValue);
        release(shared.queryEmpty[stage]);
    }

    /// This consumer's 64 rows, through shared memory and out by TMA.
    __device__ void storeGradient(const CUtensorMap& map, const float (&grad)[kGrads],
                                  unsigned char* tile) const
    {
        const BackwardPlace& place = shared.place;
        unsigned char* rows = tile + consumer * kRowsPerConsumer * kRowBytes;
#pragma unroll
        for (int i = 0; i < kGrads / 2; ++i)
            *accumulatorPlace(rows, kBackwardKeys, rowInConsumer(), i) =
                pack<Element>(grad[2 * i], grad[2 * i + 1]);
        fenceAsyncProxy();
        namedWait(gradientWritten(consumer), kWarpgroup);
        if (threadIdx.x % kWarpgroup == 0) {
#pragma unroll
            for (int panel = 0; panel < Tile::panels; ++panel)
                storeBox(map, rows + panel * kBackwardKeys * kRowBytes, panel * kPanelColumns,
                         place.keyTile * kBackwardKeys + consumer * kRowsPerConsumer, place.keyHead,
                         place.batch);
            commitStores();
        }
    }
};

} // namespace tilescope::kernels::hopper
