#pragma once

#include "kernels/cuda/hopper/backward/scores.h"

namespace tilescope::kernels::hopper {

/// One of two consumer warpgroups of a tile of 128 keys, for head dims up to 128. It owns 64 keys and keeps
/// their gradients in registers while it iterates over the queries. Each needs dS of all 128 keys for its
/// half of gradQ.
///
///     products in flight | other work
///     S, dP              | exponentials, after S
///     dP, dV             | (waits for dP)
///     dV                 | dS to shared memory, for both
///     dQ, dK             | (waits for dQ) sends dQ to the store warp
template <class Tile, class Element> struct BackwardConsumer : BackwardScores<Tile, Element> {
    using Base = BackwardScores<Tile, Element>;
    using Scores = typename Base::Scores;
    using Packed = typename Base::Packed;
    static constexpr int kGrads = Tile::headDim / 2;
    /// Products of one part of the queries overlap with the arithmetic of the next part.
    static constexpr int kParts = 2;
    using QueryValues = typename Base::template QueryValues<kParts>;
    /// With 128 queries there are no registers for a second P^T: dS is made from the packed (rounded) one.
    static constexpr bool kKeepsScores = Tile::queries == 64;
    /// Whether only the first step of a tile waits for v and for the buffer of dS. Measured: up to 2 % less time with 128
    /// queries in one of two series and no difference in the other, up to 1 % more with 64. fp16 lacks the register for it.
    static constexpr bool kWaitsOnce = Tile::queries == 128 && std::is_same_v<Element, __nv_bfloat16>;

    const BackwardArguments& arguments;
    BackwardShared<Tile>& shared;
    /// Uniform, also for the compiler, which then computes the operands' addresses once for a warp.
    const int consumer = static_cast<int>(__shfl_sync(~0U, threadIdx.x / kWarpgroup, 0)) - 1;
    float gradKey[kGrads];
    float gradValue[kGrads];
    unsigned number = 0;      // of the tile of keys
    unsigned queryNumber = 0; // of the tile of queries, of q and gradO

    __device__ BackwardConsumer(const BackwardArguments& all, BackwardShared<Tile>& memory)
        : arguments(all), shared(memory)
    {
    }

    __device__ unsigned char* key() const { return shared.key[ringAt<Tile::keyStages>(number).stage]; }
    __device__ unsigned char* value() const { return shared.value[ringAt<Tile::valueStages>(number).stage]; }

    /// Operand: this consumer's rows of a tile of keys, K-major.
    __device__ std::uint64_t rowsOf(const unsigned char* tile) const
    {
        return matrixDescriptor(sharedAddress(tile) + consumer * kRowsPerConsumer * kRowBytes);
    }
    /// Operand: a tile of queries, K-major.
    __device__ static std::uint64_t operand(const unsigned char* tile)
    {
        return matrixDescriptor(sharedAddress(tile));
    }
    /// Operand: a tile of queries, MN-major.
    __device__ static std::uint64_t transposed(const unsigned char* tile)
    {
        return matrixDescriptor(sharedAddress(tile), Tile::queries * kRowBytes);
    }

    using PackedPart = std::uint32_t[Base::kScores / 2 / kParts];
    __device__ static PackedPart& partOf(Packed& packed, int part)
    {
        return reinterpret_cast<PackedPart&>(packed[part * (Base::kScores / 2 / kParts)]);
    }

    /// grad += weights rows, 64 keys x queries times queries x head dim, for a part of the queries.
    /// Asynchronous.
    __device__ static void accumulate(float (&grad)[kGrads], const Packed& weights, std::uint64_t rows,
                                      int part)
    {
        constexpr int kSteps = Tile::queries / 16 / kParts;
#pragma unroll
        for (int step = part * kSteps; step < (part + 1) * kSteps; ++step) {
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
        // Each consumer takes a panel of queries (128 queries), or a panel of columns (64 queries).
        constexpr bool kByRows = Tile::queries == 128;
        const std::uint64_t scores = matrixDescriptor(sharedAddress(shared.gradScores[buffer]) +
                                                      (kByRows ? consumer * Tile::keys * kRowBytes : 0));
        const std::uint64_t keys =
            matrixDescriptor(sharedAddress(key()) + (kByRows ? 0 : consumer * Tile::keys * kRowBytes));
#pragma unroll
        for (int step = 0; step < Tile::keys / 16; ++step)
            productOfTransposed<Element>(grad, advance(scores, step * 16 * kRowBytes),
                                         advance(keys, step * 16 * kRowBytes), step > 0);
    }

    __device__ void run()
    {
        while (true) {
            const auto workTileRing = ringAt<kWorkTileStages>(number);
            const auto keyRing = ringAt<Tile::keyStages>(number);
            wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
            const BackwardWorkTile& workTile = shared.workTile[workTileRing.stage];
            if (workTile.keyTile < 0)
                break;
            wait(shared.keyFull[keyRing.stage], keyRing.parity);
#pragma unroll
            for (int i = 0; i < kGrads; ++i)
                gradKey[i] = gradValue[i] = 0;
            for (int member = 0; member < arguments.queryHeadsPerKeyHead; ++member) {
#pragma unroll 1
                for (int tile = workTile.firstQueryTile; tile < arguments.queryTiles; ++tile) {
                    const int firstKey = workTile.keyTile * Tile::keys + consumer * kRowsPerConsumer;
                    step(firstKey, tile * Tile::queries);
                    ++queryNumber;
                }
            }
            namedWait(kConsumersBarrier, kBackwardConsumers * kWarpgroup); // k, v and dS are no longer read
            const auto valueRing = ringAt<Tile::valueStages>(number);
            wait(shared.valueFull[valueRing.stage], valueRing.parity);
            release(
                shared.valueEmpty[valueRing.stage]); // every warp, because the others may not have waited yet
            awaitScoresEmpty();
#pragma unroll
            for (int i = 0; i < kGrads; ++i)
                gradKey[i] *= arguments.scale;
            constexpr int kRowsAt = kRowsPerConsumer * kRowBytes;
            writeGradient<Tile, Element>(gradKey, key() + consumer * kRowsAt);
            writeGradient<Tile, Element>(gradValue, shared.gradScores[0] + consumer * kRowsAt);
            sendGradients(consumer);
            ++number;
        }
        namedWait(pieceRead(consumer), kWithStoreWarp);
    }

    /// Waits until gradV of the last tile is stored.
    __device__ void awaitScoresEmpty() const
    {
        wait(shared.scoresEmpty, (number & 1) ^ 1);
    }

    /// Whether a tile of queries is the first of its head.
    __device__ bool isFirst(int firstQuery) const
    {
        const BackwardWorkTile& workTile = shared.workTile[ringAt<kWorkTileStages>(number).stage];
        return firstQuery == workTile.firstQueryTile * Tile::queries;
    }

    __device__ void step(int firstKey, int firstQuery)
    {
        const auto ring = ringAt<Tile::queryStages>(queryNumber);
        const int stage = ring.stage;
        Scores scores, gradScores;
        Packed weights, gradWeights;
        float gradQuery[32];

        wait(shared.queryFull[stage], ring.parity);
        pin(gradKey);
        pin(gradValue);
        fenceProducts();
        Base::multiply(scores, rowsOf(key()), operand(shared.query[stage]));
        commitProducts();
        if (!kWaitsOnce || isFirst(firstQuery)) {
            const auto valueRing = ringAt<Tile::valueStages>(number);
            wait(shared.valueFull[valueRing.stage], valueRing.parity);
        }
        wait(shared.gradFull[stage], ring.parity);
        fenceProducts();
        Base::multiply(gradScores, rowsOf(value()), operand(shared.gradO[stage]));
        commitProducts();

        const QueryValues logSumExp2(shared.logSumExp2[stage]);
        waitProducts<1>();
        pin(scores);
        Base::hide(scores, arguments.mask, firstKey, firstQuery);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            Base::template exponentiate<kParts>(scores, weights, part, logSumExp2, arguments.scaleLog2);
            pin(partOf(weights, part));
            fenceProducts();
            accumulate(gradValue, weights, transposed(shared.gradO[stage]), part);
            commitProducts();
        }
        if constexpr (kKeepsScores)
            pin(scores);

        const QueryValues delta(shared.delta[stage]);
        waitProducts<kParts>();
        pin(gradScores);
        if (!kWaitsOnce || isFirst(firstQuery))
            awaitScoresEmpty();
        unsigned char* rows = shared.gradScores[stage] + consumer * kRowsPerConsumer * kRowBytes;
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            if constexpr (kKeepsScores)
                Base::template differentiate<kParts>(gradScores, scores, gradWeights, part, delta);
            else
                Base::template differentiate<kParts>(gradScores, weights, gradWeights, part, delta);
            storeRows<kParts>(rows, Tile::keys, gradWeights, part);
            pin(partOf(gradWeights, part));
            if (part == kParts - 1)
                break;
            fenceProducts();
            accumulate(gradKey, gradWeights, transposed(shared.query[stage]), part);
            commitProducts();
        }
        fenceAsyncProxy();
        namedWait(kConsumersBarrier, kBackwardConsumers * kWarpgroup);
        fenceProducts();
        multiplyGradQuery(gradQuery, stage);
        commitProducts();
        accumulate(gradKey, gradWeights, transposed(shared.query[stage]), kParts - 1);
        commitProducts();

        waitProducts<1>();
        pin(gradQuery);
        release(shared.gradEmpty[stage]);
        sendGradQuery<Tile>(shared, consumer, gradQuery);
        waitProducts<0>();
        pin(gradKey);
        pin(gradValue);
        release(shared.queryEmpty[stage]);
    }
};

} // namespace tilescope::kernels::hopper
