#pragma once

#include "kernels/cuda/hopper/pipeline.h"
#include "kernels/cuda/hopper/wgmma.h"
#include "kernels/include/mask.h"

#include <cmath>

namespace tilescope::kernels::hopper {

/// What a consumer thread holds of its two rows (lane / 4 and that + 8 of its warp's 16).
template <class Tile, class Element> struct ForwardRows {
    static constexpr int kScores = Tile::keys / 2; // accumulator registers of a 64 x keys tile
    static constexpr int kOutputs = Tile::headDim / 2;
    using Scores = float[kScores];

    std::uint32_t weights[kScores / 2]; // P in pairs, as the second product's A operand
    float output[kOutputs];
    float max[2];
    float sum[2]; // of this thread's columns; the four threads of a row add up at the end

    __device__ void clearSoftmax()
    {
        max[0] = max[1] = -INFINITY;
        sum[0] = sum[1] = 0;
    }

    __device__ void clearOutput()
    {
#pragma unroll
        for (float& value : output)
            value = 0;
    }

    /// scores = q k^T. Asynchronous.
    __device__ static void multiplyKeys(Scores& scores, std::uint64_t query, std::uint64_t key)
    {
#pragma unroll
        for (int step = 0; step < Tile::headDim / 16; ++step) {
            const int panel = step / 4;
            const int within = step % 4 * 32;
            product<Element>(scores, advance(query, panel * Tile::queries * kRowBytes + within),
                             advance(key, panel * Tile::keys * kRowBytes + within), step > 0);
        }
    }

    /// output += weights v. Asynchronous.
    __device__ void multiplyValues(std::uint64_t value)
    {
#pragma unroll
        for (int step = 0; step < Tile::keys / 16; ++step) {
            const std::uint64_t rows = advance(value, step * 16 * kRowBytes);
            if constexpr (Tile::headDim == 32 || Tile::headDim == 64 || Tile::headDim == 128) {
                productFromRegisters<Element>(output, weights + 4 * step, rows);
            } else if constexpr (Tile::headDim == 256) {
                auto& first = reinterpret_cast<float(&)[64]>(output);
                auto& second = reinterpret_cast<float(&)[64]>(output[64]);
                productFromRegisters<Element>(first, weights + 4 * step, rows);
                productFromRegisters<Element>(second, weights + 4 * step,
                                              advance(rows, 2 * Tile::keys * kRowBytes));
            } else { // 96: one whole panel and a part of the second
                auto& first = reinterpret_cast<float(&)[32]>(output);
                auto& rest = reinterpret_cast<float(&)[kOutputs - 32]>(output[32]);
                productFromRegisters<Element>(first, weights + 4 * step, rows);
                productFromRegisters<Element>(rest, weights + 4 * step,
                                              advance(rows, Tile::keys * kRowBytes));
            }
        }
    }

    /// Scores that the mask hides become -infinity.
    __device__ static void hide(Scores& scores, const MaskPolicy<int>& mask, int firstRow, int firstKey)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int end = mask.keysSeenBy(firstRow + 8 * half) - firstKey - 2 * (threadIdx.x % 4);
#pragma unroll
            for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    if (8 * i + j >= end)
                        scores[4 * i + 2 * half + j] = -INFINITY;
        }
    }

    /// scores = exp(scale scores - offset). Both rows at once and in several chains: a chain of dependent
    /// operations would cost more than their number.
    ///
    /// The offset is a running maximum that may lag behind: it follows only when exponentials would pass 2^8,
    /// which after the first tiles is rare. True where it did for a row of this warp: then what was summed
    /// before must shrink by `shrink`.
    __device__ bool exponentiate(Scores& scores, float scaleLog2, float (&shrink)[2])
    {
        constexpr float kSlack = 8;
        constexpr int kChains = 4; // element i of the accumulator belongs to chain i % 4: rows 0, 0, 1, 1
        float largest[kChains];
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain)
            largest[chain] = scores[chain];
#pragma unroll
        for (int i = kChains; i < kScores; ++i)
            largest[i % kChains] = fmaxf(largest[i % kChains], scores[i]);
        float newMax[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            newMax[half] = fmaxf(fmaxf(largest[2 * half], largest[2 * half + 1]), max[half]);
            newMax[half] = fmaxf(newMax[half], __shfl_xor_sync(~0U, newMax[half], 1));
            newMax[half] = fmaxf(newMax[half], __shfl_xor_sync(~0U, newMax[half], 2));
        }
        const bool grew =
            (newMax[0] - max[0]) * scaleLog2 > kSlack || (newMax[1] - max[1]) * scaleLog2 > kSlack;
        const bool moved = __any_sync(~0U, grew);
        float offset[2];
        // Without a branch: ptxas would put the wait for the products first in the block after it.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            newMax[half] = moved ? newMax[half] : max[half];
            // A row that has seen nothing yet has maximum -infinity; subtracting it would make NaN.
            offset[half] = newMax[half] == -INFINITY ? 0.0f : newMax[half] * scaleLog2;
            shrink[half] =
                newMax[half] == -INFINITY ? 1.0f : exp2Special(max[half] * scaleLog2 - offset[half]);
            max[half] = newMax[half];
        }
        float sums[kChains] = {};
#pragma unroll
        for (int i = 0; i < kScores; ++i) {
            const float exponent = fmaf(scores[i], scaleLog2, -offset[i / 2 % 2]);
            scores[i] = exp2Special(exponent);
            sums[i % kChains] += scores[i];
        }
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] = sum[half] * shrink[half] + sums[2 * half] + sums[2 * half + 1];
        return moved;
    }

    __device__ void shrinkOutput(const float (&shrink)[2])
    {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i)
            output[i] *= shrink[i / 2 % 2];
    }

    __device__ void packWeights(const Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i)
            weights[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
    }

    /// Divides by the row sums, puts o in the tile's place in shared memory and the log-sum-exp in global
    /// memory.
    /// \param row        the first of this thread's two, in the head
    /// \param logSumExp  of the head's first row
    __device__ void finish(int queries, float scaleLog2, const float (&rowMax)[2], const float (&rowSum)[2],
                           unsigned char* tile, int row, float* logSumExp)
    {
        constexpr float kLn2 = 0.693147180559945f;
        float inverse[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = rowSum[half];
            total += __shfl_xor_sync(~0U, total, 1);
            total += __shfl_xor_sync(~0U, total, 2);
            inverse[half] = total == 0 ? 0 : 1 / total; // no key seen: o = 0
            const int query = row + 8 * half;
            if (threadIdx.x % 4 == 0 && query < queries)
                logSumExp[query] = total == 0 ? -INFINITY : rowMax[half] * scaleLog2 * kLn2 + logf(total);
        }
#pragma unroll
        for (int i = 0; i < kOutputs / 2; ++i)
            *accumulatorPlace(tile, Tile::queries, rowInConsumer(), i) =
                pack<Element>(output[2 * i] * inverse[i % 2], output[2 * i + 1] * inverse[i % 2]);
    }
};

} // namespace tilescope::kernels::hopper
