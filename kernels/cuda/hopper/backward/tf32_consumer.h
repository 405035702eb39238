#pragma once

#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/hopper/backward/scores.h"
#include "kernels/cuda/hopper/backward/tf32_tile.h"

namespace tilescope::kernels::hopper {

/// Products and arithmetic that all consumers of the TF32 backward kernel share, for 64 keys by 64 queries.
/// Scores are transposed: a row is a key.
template <class Tile> struct Tf32BackwardConsumer {
    static constexpr int kScores = Tile::queries / 2;
    using Scores = float[kScores];
    using Operand = std::uint32_t[kScores]; // P^T or dS^T, rounded, as registers of an A operand
    using Gradient = float[Tile::headDim / 2];
    using Value = std::uint32_t[Tile::headDim / 2]; // v as the first operand: 64 keys x head dim
    static constexpr int kBoth = kBackwardConsumers * kWarpgroup;

    const Tf32BackwardArguments& arguments;
    Tf32BackwardMemory<Tile>& shared;
    const int consumer;
    const int firstRow = Tile::sharesKeys ? 0 : consumer * kRowsPerConsumer; ///< of the tile of keys
    unsigned number = 0;                                                     // of the tile of keys
    StepRing<Tile::stages> ring;
    StepRing<Tile::transposedStages> transposedRing;

    __device__ Tf32BackwardConsumer(const Tf32BackwardArguments& all, Tf32BackwardMemory<Tile>& memory,
                                    int which)
        : arguments(all), shared(memory), consumer(which)
    {
    }

    // --- tiles of keys ---------------------------------------------------------------------------

    __device__ const BackwardWorkTile& workTile() const
    {
        return shared.workTile[ringAt<kWorkTileStages>(number).stage];
    }
    __device__ int firstKey() const { return workTile().keyTile * Tile::keys + firstRow; }

    /// Waits for the next tile of keys. False: there are no more.
    __device__ bool nextTile()
    {
        const auto workTileRing = ringAt<kWorkTileStages>(number);
        wait(shared.workTileFull[workTileRing.stage], workTileRing.parity);
        return workTile().keyTile >= 0;
    }

    /// Releases this tile's stage of workTile.
    __device__ void releaseTile()
    {
        release(shared.workTileEmpty[ringAt<kWorkTileStages>(number).stage]);
        ++number;
    }

    __device__ static void clear(Gradient& grad)
    {
#pragma unroll
        for (float& value : grad)
            value = 0;
    }

    /// Loads v from the buffer that P and dS will use.
    __device__ void loadValue(Value& value) const
    {
        wait(shared.valueFull, number & 1);
#pragma unroll
        for (int i = 0; i < Tile::headDim / 2; ++i) {
            const Coordinates at = tf32OperandAt(threadIdx.x % kWarpgroup, i % 4);
            value[i] = __float_as_uint(*reinterpret_cast<const float*>(
                shared.scores[0] +
                elementOffset(Tile::keys, firstRow + at.row, i / 4 * kTf32Depth + at.column)));
        }
        pin(value);
        fenceAsyncProxy(); // orders these loads before TMA's next write
    }

    /// Writes the gradient of this consumer's keys, 32 bytes of a row at a time.
    __device__ void writeGradient(const Gradient& grad, const MutableView& view, float factor) const
    {
        const BackwardWorkTile at = workTile();
        const int headDim = arguments.headDim;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int key = firstKey() + rowInConsumer() + 8 * half;
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

    // --- products, all asynchronous --------------------------------------------------------------

    __device__ static std::uint64_t operand(const unsigned char* tile)
    {
        return matrixDescriptor(recomputedAddress(tile));
    }

    /// scores = k q^T.
    __device__ void multiplyKeys(Scores& scores) const
    {
        const std::uint64_t keys = operand(shared.key + firstRow * kRowBytes);
        const std::uint64_t queries = operand(shared.query[ring.stage()]);
#pragma unroll
        for (int step = 0; step < Tile::headDim / kTf32Depth; ++step)
            product<float>(scores, advance(keys, stepOffset(Tile::keys, step)),
                           advance(queries, stepOffset(Tile::queries, step)), step > 0);
    }

    /// gradScores = v gradO^T.
    __device__ void multiplyValue(Scores& gradScores, const Value& value) const
    {
        const std::uint64_t rows = operand(shared.gradO[ring.stage()]);
#pragma unroll
        for (int step = 0; step < Tile::headDim / kTf32Depth; ++step)
            productFromRegisters<float>(gradScores, value + 4 * step,
                                        advance(rows, stepOffset(Tile::queries, step)), step > 0);
    }

    /// grad += weights rows', 64 keys x 64 queries times queries x head dim.
    /// \param rows  gradO or q, transposed
    __device__ static void accumulate(Gradient& grad, const Operand& weights, const unsigned char* rows)
    {
        const std::uint64_t transposed = operand(rows);
#pragma unroll
        for (int step = 0; step < Tile::queries / kTf32Depth; ++step) {
            const std::uint64_t at = advance(transposed, stepOffset(Tile::headDim, step));
            if constexpr (Tile::headDim == 96) { // wgmma.h has no product of this width
                auto& first = reinterpret_cast<float(&)[32]>(grad);
                auto& rest = reinterpret_cast<float(&)[16]>(grad[32]);
                productFromRegisters<float>(first, weights + 4 * step, at);
                productFromRegisters<float>(rest, weights + 4 * step, advance(at, 64 * kRowBytes));
            } else {
                productFromRegisters<float>(grad, weights + 4 * step, at);
            }
        }
    }

    /// gradQuery = dS k over 64 keys, 64 queries x head dim.
    /// \param gradScores  dS of those keys
    __device__ void multiplyGradQuery(Gradient& gradQuery, const unsigned char* gradScores) const
    {
        const std::uint64_t scores = operand(gradScores);
        // A row of K^T holds keys: 64 keys are two panels.
        const std::uint64_t keys =
            operand(shared.keyTransposed + firstRow / kTf32Columns * Tile::headDim * kRowBytes);
#pragma unroll
        for (int step = 0; step < kRowsPerConsumer / kTf32Depth; ++step) {
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

    // --- arithmetic ------------------------------------------------------------------------------

    /// scores = P^T, not rounded.
    __device__ void exponentiate(Scores& scores, const float* logSumExp2) const
    {
        const float scale = arguments.scaleLog2;
#pragma unroll
        for (int i = 0; i < kScores; i += 4) {
            const float2 lse = *reinterpret_cast<const float2*>(logSumExp2 + 2 * i + 2 * (threadIdx.x % 4));
            scores[i] = exp2Approximate(fmaf(scores[i], scale, -lse.x));
            scores[i + 1] = exp2Approximate(fmaf(scores[i + 1], scale, -lse.y));
            scores[i + 2] = exp2Approximate(fmaf(scores[i + 2], scale, -lse.x));
            scores[i + 3] = exp2Approximate(fmaf(scores[i + 3], scale, -lse.y));
        }
    }

    __device__ static void packWeights(const Scores& scores, Operand& weights)
    {
#pragma unroll
        for (int i = 0; i < kScores; ++i)
            weights[i] = ptx::roundTf32(__float_as_uint(scores[accumulatorOfOperand(i)]));
    }

    /// dS^T = P^T (dP^T - delta), as an operand and, transposed, in shared memory.
    /// \param weightsAt  (i): P^T of accumulators 4 i to 4 i + 3
    template <class WeightsAt>
    __device__ static void differentiate(const Scores& gradScores, Operand& gradWeights, const float* delta,
                                         unsigned char* tile, const WeightsAt& weightsAt)
    {
        // A thread's two keys are adjacent in a row of dS. Its queries are rows 2t and 2t + 1 of each eight.
        unsigned char* targets[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int column = threadIdx.x % kWarpgroup / 32 * 16 + threadIdx.x % 32 / 4 * 2;
            const int row = threadIdx.x % 4 * 2 + j;
            targets[j] = tile + elementOffset(Tile::queries, row, column);
        }
        // Half of them at a time: one latency for all loads of a half, with few registers.
        constexpr int kHalf = kScores / 8;
#pragma unroll
        for (int first = 0; first < 2 * kHalf; first += kHalf) {
            float4 weights[kHalf];
            float2 deltas[kHalf];
#pragma unroll
            for (int i = 0; i < kHalf; ++i) {
                weights[i] = weightsAt(first + i);
                deltas[i] = *reinterpret_cast<const float2*>(delta + 8 * (first + i) + threadIdx.x % 4 * 2);
            }
#pragma unroll
            for (int i = 0; i < kHalf; ++i) {
                const float* gradients = gradScores + 4 * (first + i);
                const std::uint32_t rounded[] = {
                    ptx::roundTf32(__float_as_uint(weights[i].x * (gradients[0] - deltas[i].x))),
                    ptx::roundTf32(__float_as_uint(weights[i].y * (gradients[1] - deltas[i].y))),
                    ptx::roundTf32(__float_as_uint(weights[i].z * (gradients[2] - deltas[i].x))),
                    ptx::roundTf32(__float_as_uint(weights[i].w * (gradients[3] - deltas[i].y)))};
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    gradWeights[4 * (first + i) + j] = rounded[accumulatorOfOperand(j)];
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    *reinterpret_cast<uint2*>(targets[j] + (first + i) * kGroupRows * kRowBytes) =
                        make_uint2(rounded[j], rounded[j + 2]);
            }
        }
    }

    /// Adds 64 rows of gradQ in global memory.
    /// \param tile  of queries, among those of all heads
    __device__ void addGradQuery(const Gradient& gradQuery, int tile) const
    {
        // Tested here, because ptxas 13.0 took the branch for a null pointer if the result was kept over the
        // loop.
        unsigned* semaphores = recomputedValue(arguments.workspace.semaphores);
        unsigned* semaphore = semaphores ? semaphores + tile : nullptr;
        if (semaphore) {
            constexpr int kAdders = Tile::sharesKeys ? 1 : kBackwardConsumers;
            if (threadIdx.x % kWarpgroup == 0)
                waitForSemaphore(semaphore, workTile().keyTile * kAdders + consumer);
            namedWait(consumerBarrier(consumer), kWarpgroup);
        }
        const int columns = recomputedValue(arguments.workspace.columns);
        float* sums = arguments.workspace.gradQuery + std::int64_t{tile} * Tile::queries * columns +
                      threadIdx.x % kWarpgroup * 4;
#pragma unroll
        for (int chunk = 0; chunk < Tile::headDim / 8; ++chunk)
            if (chunk * 8 < columns)
                addFourFloats(sums + chunk * kWarpgroup * 4, gradQuery[4 * chunk], gradQuery[4 * chunk + 1],
                              gradQuery[4 * chunk + 2], gradQuery[4 * chunk + 3]);
        if (semaphore) {
            __threadfence();
            namedWait(consumerBarrier(consumer), kWarpgroup);
            if (threadIdx.x % kWarpgroup == 0)
                atomicAdd(semaphore, 1U);
        }
    }
};

} // namespace tilescope::kernels::hopper
