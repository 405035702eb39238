#pragma once

#include "kernels/cuda/hopper/backward_scores.h"
#include "kernels/cuda/hopper/backward_tf32_tile.h"
#include "kernels/cuda/ptx.h"

/// The two consumer warpgroups of the TF32 backward kernel. They share 64 keys: the first makes S, P, gradV
/// and gradQ, the second dP, dS and gradK, with v in its registers. P goes from one to the other thread by
/// thread, since thread t of both holds the same keys and queries, and dS back as rows of queries.
///
///     gradV's: exp S(j) | P(j) out | dV(j)  | wait for dS(j) | dQ(j), S(j+1) | dQ(j) out
///     gradK's: dK(j-1)  | dP(j)    | wait for P(j) | dS(j) out | dK(j)
///
/// Shared memory holds P and dS once: P(j+1) is written after dS(j) was waited for, which its reader wrote
/// after reading P(j), and dS(j+1) after P(j+1) came, which follows dQ(j).
namespace tilescope::kernels::hopper {

/// What both have in common. Scores are transposed, 64 keys by 64 queries in the registers of a warpgroup.
template <class Tile> struct Tf32BackwardConsumer {
    using Scores = float[Tile::queries / 2];
    using Operand = std::uint32_t[Tile::queries / 2]; // P^T or dS^T, rounded, in the order of registers of A
    using Gradient = float[Tile::headDim / 2];
    static constexpr int kBoth = kBackwardConsumers * kWarpgroup;

    const Tf32BackwardArguments& arguments;
    Tf32BackwardMemory<Tile>& shared;
    Gradient grad;
    unsigned number = 0; // of the tile of keys
    StepRing<Tile::stages> ring;
    StepRing<Tile::transposedStages> transposedRing;

    __device__ Tf32BackwardConsumer(const Tf32BackwardArguments& all, Tf32BackwardMemory<Tile>& memory)
        : arguments(all), shared(memory)
    {
    }

    __device__ const BackwardPlace& place() const
    {
        return shared.place[ringAt<kBackwardPlaces>(number).stage];
    }

    /// Waits for the next tile of keys. False: there are no more.
    __device__ bool nextTile()
    {
        const auto placeRing = ringAt<kBackwardPlaces>(number);
        wait(shared.placeFull[placeRing.stage], placeRing.parity);
        if (place().keyTile < 0)
            return false;
#pragma unroll
        for (float& value : grad)
            value = 0;
        return true;
    }

    __device__ static std::uint64_t operand(const unsigned char* tile)
    {
        return matrixDescriptor(addressHere(tile));
    }

    /// grad += weights rows', 64 keys x 64 queries times queries x head dim. Asynchronous.
    /// \param rows  gradO or q, transposed
    __device__ void accumulate(const Operand& weights, const unsigned char* rows)
    {
        const std::uint64_t transposed = operand(rows);
#pragma unroll
        for (int step = 0; step < Tile::queries / kTf32Depth; ++step) {
            const std::uint64_t at = advance(transposed, stepOffset(Tile::headDim, step));
            if constexpr (Tile::headDim == 96) { // no instruction here is that wide
                auto& first = reinterpret_cast<float(&)[32]>(grad);
                auto& rest = reinterpret_cast<float(&)[16]>(grad[32]);
                productFromRegisters<float>(first, weights + 4 * step, at);
                productFromRegisters<float>(rest, weights + 4 * step, advance(at, 64 * kRowBytes));
            } else {
                productFromRegisters<float>(grad, weights + 4 * step, at);
            }
        }
    }

    /// This thread's part of P^T on its way between the consumers.
    __device__ float4* weightsOfThread() const
    {
        return reinterpret_cast<float4*>(shared.scores[0]) + threadIdx.x % kWarpgroup;
    }

    /// Writes the gradient of this tile's keys; 32 bytes of a row at a time.
    __device__ void writeGradient(const MutableView& view, float factor) const
    {
        const BackwardPlace at = place();
        const int headDim = arguments.headDim;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int key = at.keyTile * Tile::keys + rowInConsumer() + 8 * half;
            if (key >= arguments.mask.keys)
                continue;
            float* row = static_cast<float*>(view.data) + at.batch * view.batchStride +
                         at.keyHead * view.headStride + key * view.rowStride;
#pragma unroll
            for (int i = 2 * half; i < Tile::headDim / 2; i += 4) {
                const int column = accumulatorAt(threadIdx.x % kWarpgroup, i).column;
                if (column < headDim)
                    *reinterpret_cast<float2*>(row + column) =
                        make_float2(grad[i] * factor, grad[i + 1] * factor);
            }
        }
    }

    /// This tile's place is read.
    __device__ void leaveTile()
    {
        release(shared.placeEmpty[ringAt<kBackwardPlaces>(number).stage]);
        ++number;
    }
};

template <class Tile> struct Tf32BackwardValueConsumer : Tf32BackwardConsumer<Tile> {
    using Base = Tf32BackwardConsumer<Tile>;
    using Base::arguments, Base::shared, Base::grad, Base::ring, Base::transposedRing, Base::number;
    using typename Base::Gradient, typename Base::Operand, typename Base::Scores;

    using Base::Base;

    __device__ void run()
    {
        while (this->nextTile()) {
            wait(shared.keyFull, number & 1);
            meet(QueryWalk(arguments, this->place()));
            // dS(last) is multiplied, and was written after P(last) was read: v may take their place.
            fenceAsyncProxy();
            release(shared.keyEmpty);
            this->writeGradient(arguments.gradValue, 1);
            this->leaveTile();
        }
    }

    /// scores = k q^T. Asynchronous.
    __device__ void multiplyKeys(Scores& scores) const
    {
        const std::uint64_t keys = Base::operand(shared.key);
        const std::uint64_t queries = Base::operand(shared.query[ring.stage()]);
#pragma unroll
        for (int step = 0; step < Tile::headDim / kTf32Depth; ++step)
            product<float>(scores, advance(keys, stepOffset(Tile::keys, step)),
                           advance(queries, stepOffset(Tile::queries, step)), step > 0);
    }

    /// scores = P^T.
    __device__ void exponentiate(Scores& scores, const float* logSumExp2) const
    {
        const float scale = arguments.scaleLog2;
#pragma unroll
        for (int i = 0; i < Tile::queries / 2; i += 4) {
            const float2 lse = *reinterpret_cast<const float2*>(logSumExp2 + 2 * i + 2 * (threadIdx.x % 4));
            scores[i] = exp2Special(fmaf(scores[i], scale, -lse.x));
            scores[i + 1] = exp2Special(fmaf(scores[i + 1], scale, -lse.y));
            scores[i + 2] = exp2Special(fmaf(scores[i + 2], scale, -lse.x));
            scores[i + 3] = exp2Special(fmaf(scores[i + 3], scale, -lse.y));
        }
    }

    /// gradQuery = dS k, 64 queries x head dim. Asynchronous.
    __device__ void multiplyGradQuery(Gradient& gradQuery) const
    {
        const std::uint64_t scores = Base::operand(shared.scores[1]);
        const std::uint64_t keys = Base::operand(shared.keyTransposed);
#pragma unroll
        for (int step = 0; step < Tile::keys / kTf32Depth; ++step) {
            const std::uint64_t left = advance(scores, stepOffset(Tile::queries, step));
            const std::uint64_t right = advance(keys, stepOffset(Tile::headDim, step));
            if constexpr (Tile::headDim == 96) {
                auto& first = reinterpret_cast<float(&)[32]>(gradQuery);
                auto& rest = reinterpret_cast<float(&)[16]>(gradQuery[32]);
                product<float>(first, left, right, step > 0);
                product<float>(rest, left, advance(right, 64 * kRowBytes), step > 0);
            } else {
                product<float>(gradQuery, left, right, step > 0);
            }
        }
    }

    /// Adds 64 rows of gradQ in global memory.
    /// \param tile  of queries, among those of all heads
    __device__ void addGradQuery(const Gradient& gradQuery, int tile) const
    {
        // Tested here: with the answer kept around the loop ptxas 13.0 took the branch for a null pointer.
        unsigned* turns = valueHere(arguments.workspace.turns);
        unsigned* turn = turns ? turns + tile : nullptr;
        if (turn) {
            if (threadIdx.x % kWarpgroup == 0)
                awaitTurn(turn, this->place().keyTile);
            namedWait(consumerMeets(0), kWarpgroup);
        }
        const int columns = valueHere(arguments.workspace.columns);
        float* sums = arguments.workspace.gradQuery + std::int64_t{tile} * Tile::queries * columns +
                      threadIdx.x % kWarpgroup * 4;
#pragma unroll
        for (int chunk = 0; chunk < Tile::headDim / 8; ++chunk)
            if (chunk * 8 < columns)
                addFourFloats(sums + chunk * kWarpgroup * 4, gradQuery[4 * chunk], gradQuery[4 * chunk + 1],
                              gradQuery[4 * chunk + 2], gradQuery[4 * chunk + 3]);
        if (turn) {
            __threadfence();
            namedWait(consumerMeets(0), kWarpgroup);
            if (threadIdx.x % kWarpgroup == 0)
                atomicAdd(turn, 1U);
        }
    }

    __device__ void meet(QueryWalk walk)
    {
        const int firstKey = this->place().keyTile * Tile::keys;
        Scores scores;
        wait(shared.queryFull[ring.stage()], ring.parity());
        fenceProducts();
        multiplyKeys(scores);
        commitProducts();
        waitProducts<0>();
        pin(scores);
        release(shared.queryEmpty[ring.stage()]);
        namedWait(kValuesTaken, Base::kBoth);
        wait(shared.keyTransposedFull, number & 1);
#pragma unroll 1
        while (true) {
            BackwardScores<Tile, float>::hide(scores, arguments.mask, firstKey, walk.tile * Tile::queries);
            exponentiate(scores, shared.logSumExp2[ring.longer]);
            Operand weights;
#pragma unroll
            for (int i = 0; i < Tile::queries / 2; i += 4)
                this->weightsOfThread()[i / 4 * kWarpgroup] =
                    make_float4(scores[i], scores[i + 1], scores[i + 2], scores[i + 3]);
            namedArrive(kWeightsWritten, Base::kBoth);
#pragma unroll
            for (int i = 0; i < Tile::queries / 2; ++i)
                weights[i] = ptx::roundTf32(__float_as_uint(scores[accumulatorOfOperand(i)]));

            const int stage = transposedRing.stage();
            wait(shared.gradTransposedFull[stage], transposedRing.parity());
            pin(weights);
            pin(grad);
            fenceProducts();
            this->accumulate(weights, shared.gradOTransposed[stage]);
            commitProducts();
            namedWait(kScoresWritten, Base::kBoth);
            Gradient gradQuery;
            fenceProducts();
            multiplyGradQuery(gradQuery);
            commitProducts();
            waitProducts<1>();
            pin(grad);
            pin(weights);
            release(shared.gradTransposedEmpty[stage]);
            transposedRing.advance();

            const int tile = walk.index;
            walk.advance();
            const bool last = !walk.more();
            // After the last step once more with an old tile, for nothing: a branch around products breaks
            // the pipeline.
            Scores next;
            if (!last) {
                ring.advance();
                wait(shared.queryFull[ring.stage()], ring.parity());
            }
            fenceProducts();
            multiplyKeys(next);
            commitProducts();
            waitProducts<1>();
            pin(gradQuery);
            addGradQuery(gradQuery, tile);
            waitProducts<0>();
            pin(next);
            if (last)
                break;
            release(shared.queryEmpty[ring.stage()]);
#pragma unroll
            for (int i = 0; i < Tile::queries / 2; ++i)
                scores[i] = next[i];
        }
        ring.advance();
    }
};

template <class Tile> struct Tf32BackwardKeyConsumer : Tf32BackwardConsumer<Tile> {
    using Base = Tf32BackwardConsumer<Tile>;
    using Base::arguments, Base::shared, Base::grad, Base::ring, Base::transposedRing, Base::number;
    using typename Base::Operand, typename Base::Scores;

    std::uint32_t value[Tile::headDim / 2]; // v as the first operand: 64 keys x head dim

    using Base::Base;

    __device__ void run()
    {
        while (this->nextTile()) {
            takeValue();
            const int steps = stepsOf(arguments, this->place());
#pragma unroll 1
            for (int step = 0; step < steps; ++step)
                meet();
            this->writeGradient(arguments.gradKey, arguments.scale);
            this->leaveTile();
        }
    }

    /// Loads v, and lets P and dS have its place.
    __device__ void takeValue()
    {
        wait(shared.valueFull, number & 1);
#pragma unroll
        for (int i = 0; i < Tile::headDim / 2; ++i) {
            const Coordinates at = tf32OperandAt(threadIdx.x % kWarpgroup, i % 4);
            value[i] = __float_as_uint(*reinterpret_cast<const float*>(
                shared.scores[0] + elementOffset(Tile::keys, at.row, i / 4 * kTf32Depth + at.column)));
        }
        pin(value);
        fenceAsyncProxy(); // an arrival alone may pass loads under way
        namedArrive(kValuesTaken, Base::kBoth);
    }

    /// dS^T = P^T (dP^T - delta), as an operand and, transposed, to shared memory.
    __device__ void differentiate(const Scores& gradScores, Operand& gradWeights, const float* delta) const
    {
        // A thread's two keys are neighbours in a row of dS, its queries rows 2t and 2t + 1 of each eight.
        unsigned char* places[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int column = threadIdx.x % kWarpgroup / 32 * 16 + threadIdx.x % 32 / 4 * 2;
            const int row = threadIdx.x % 4 * 2 + j;
            places[j] = shared.scores[1] + elementOffset(Tile::queries, row, column);
        }
        // Half of them at a time: all that is read first costs one latency, and its registers are few.
        constexpr int kHalf = Tile::queries / 4;
#pragma unroll
        for (int first = 0; first < 2 * kHalf; first += kHalf) {
            float4 weights[kHalf / 4];
            float2 deltas[kHalf / 4];
#pragma unroll
            for (int i = 0; i < kHalf / 4; ++i) {
                weights[i] = this->weightsOfThread()[(first / 4 + i) * kWarpgroup];
                deltas[i] = *reinterpret_cast<const float2*>(delta + 2 * first + 8 * i + threadIdx.x % 4 * 2);
            }
#pragma unroll
            for (int i = 0; i < kHalf / 4; ++i) {
                const float* gradients = gradScores + first + 4 * i;
                const std::uint32_t rounded[] = {
                    ptx::roundTf32(__float_as_uint(weights[i].x * (gradients[0] - deltas[i].x))),
                    ptx::roundTf32(__float_as_uint(weights[i].y * (gradients[1] - deltas[i].y))),
                    ptx::roundTf32(__float_as_uint(weights[i].z * (gradients[2] - deltas[i].x))),
                    ptx::roundTf32(__float_as_uint(weights[i].w * (gradients[3] - deltas[i].y)))};
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    gradWeights[first + 4 * i + j] = rounded[accumulatorOfOperand(j)];
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    *reinterpret_cast<uint2*>(places[j] + (first / 4 + i) * kGroupRows * kRowBytes) =
                        make_uint2(rounded[j], rounded[j + 2]);
            }
        }
    }

    __device__ void meet()
    {
        const int stage = ring.stage();
        Operand gradWeights;
        {
            Scores gradScores;
            wait(shared.gradFull[stage], ring.parity());
            const std::uint64_t rows = Base::operand(shared.gradO[stage]);
            pin(value);
            fenceProducts();
#pragma unroll
            for (int step = 0; step < Tile::headDim / kTf32Depth; ++step)
                productFromRegisters<float>(gradScores, value + 4 * step,
                                            advance(rows, stepOffset(Tile::queries, step)), step > 0);
            commitProducts();
            waitProducts<0>();
            pin(gradScores);
            pin(value);
            release(shared.gradEmpty[stage]);
            namedWait(kWeightsWritten, Base::kBoth);
            differentiate(gradScores, gradWeights, shared.delta[ring.longer]);
            ring.advance();
        }
        fenceAsyncProxy();
        namedArrive(kScoresWritten, Base::kBoth);

        const int transposedStage = transposedRing.stage();
        wait(shared.queryTransposedFull[transposedStage], transposedRing.parity());
        pin(gradWeights);
        pin(grad);
        fenceProducts();
        this->accumulate(gradWeights, shared.queryTransposed[transposedStage]);
        commitProducts();
        waitProducts<0>();
        pin(grad);
        pin(gradWeights);
        release(shared.queryTransposedEmpty[transposedStage]);
        transposedRing.advance();
    }
};

} // namespace tilescope::kernels::hopper
