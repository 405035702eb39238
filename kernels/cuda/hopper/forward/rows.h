#pragma once

#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/hopper/common/pipeline.h"
#include "kernels/cuda/hopper/common/wgmma.h"
#include "kernels/cuda/hopper/forward/tile.h"
#include "kernels/include/mask.h"

#include <cmath>

namespace tilescope::kernels::hopper {

/// Writes a consumer's 64 rows of o, of 2-byte elements, to shared memory.
/// \param inverse  factors for this thread's two rows
template <class Tile, class Element, int Outputs>
__device__ inline void writeRows(unsigned char* tile, const float (&output)[Outputs],
                                 const float (&inverse)[2])
{
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x % kWarpgroup / 32 * 16 + lane % 16;
#pragma unroll
    for (int chunk = 0; chunk < Outputs / 4; chunk += 2) {
        std::uint32_t pairs[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            pairs[i] = pack<Element>(output[4 * chunk + 2 * i] * inverse[i % 2],
                                     output[4 * chunk + 2 * i + 1] * inverse[i % 2]);
        storeMatrices(chunkAddress(tile, Tile::queries, row, chunk + lane / 16), pairs[0], pairs[1], pairs[2],
                      pairs[3]);
    }
}

/// A consumer thread's part of its two rows (lane / 4 and lane / 4 + 8 of its warp's 16).
template <class Tile, class Element_> struct ForwardRows {
    using Element = Element_;
    /// Whether the offset of a row's exponents is always its largest score.
    static constexpr bool kFollowsLargest = false;
    static constexpr int kScores = Tile::keys / 2; // accumulator registers of a 64 x keys tile
    static constexpr int kOutputs = Tile::headDim / 2;
    using Scores = float[kScores];

    /// How scores become exponents of two: all by the same factor.
    struct Scaling {
        __device__ void startTile(const ForwardArguments&, const TileCoordinate&, int, int) {}
        __device__ void startStep(int) {}
        __device__ float of(const ForwardArguments& arguments) const { return arguments.scaleLog2; }
    };

    std::uint32_t weights[kScores * sizeof(Element) / 4]; // P as the second product's A operand
    float output[kOutputs];
    float offset[2]; // subtracted from exponents; -infinity if a row has seen no key
    float sum[2];    // of this thread's columns; added over a row's four threads at the end

    __device__ void clearSoftmax()
    {
        offset[0] = offset[1] = -INFINITY;
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
        for (int step = 0; step < Tile::headDim / Instruction<Element>::kDepth; ++step)
            product<Element>(scores, advance(query, stepOffset(Tile::queries, step)),
                             advance(key, stepOffset(Tile::keys, step)), step > 0);
    }

    /// V as TMA delivers it: MN-major.
    __device__ static std::uint64_t valueOperand(std::uint32_t address)
    {
        return matrixDescriptor(address, Tile::keys * kRowBytes);
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

    /// The keys of a tile that this thread's rows see: row r sees key j of the tile if j < end[r].
    struct Seen {
        int end[2];
        int byAll, byAny; ///< the same for all, and for any, of the warp's 16 rows
    };
    __device__ static Seen seen(const MaskPolicy<int>& mask, int row, int firstKey)
    {
        const int firstOfWarp = row - threadIdx.x % 32 / 4;
        return {{mask.keysSeenBy(row) - firstKey, mask.keysSeenBy(row + 8) - firstKey},
                mask.keysSeenBy(firstOfWarp) - firstKey,
                mask.keysSeenBy(firstOfWarp + 15) - firstKey};
    }

    /// The mask is applied by blocks of keys: only blocks that it hides partly need comparisons.
    static constexpr int kBlockKeys = Tile::keys % 32 == 0 ? 32 : 16;
    static constexpr int kBlocks = Tile::keys / kBlockKeys;
    static constexpr int kBlockScores = kBlockKeys / 2;

    __device__ static void hideInBlock(Scores& scores, const Seen& seen, int block)
    {
        if (seen.byAll >= (block + 1) * kBlockKeys)
            return;
#pragma unroll
        for (int i = 0; i < kBlockScores; ++i) {
            const int column = block * kBlockKeys + i / 4 * 8 + i % 2;
            if (column + 2 * int(threadIdx.x % 4) >= seen.end[i / 2 % 2])
                scores[block * kBlockScores + i] = -INFINITY;
        }
    }

    /// Scores that the mask hides become -infinity.
    __device__ static void hide(Scores& scores, const Seen& seen)
    {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block)
            hideInBlock(scores, seen, block);
    }

    /// scores = exp2(scale scores - offset). Sums are made in four independent chains, because the latency of
    /// one chain would exceed the time of the operations. Element i belongs to chain i % 4: rows 0, 0, 1, 1.
    template <bool kMasked>
    __device__ static void exponentials(Scores& scores, float scaleLog2, const float (&subtracted)[2],
                                        const Seen& seen, float (&sums)[2])
    {
        float chains[4] = {};
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
            if constexpr (kMasked) {
                if (seen.byAny <= block * kBlockKeys) {
#pragma unroll
                    for (int i = 0; i < kBlockScores; ++i)
                        scores[block * kBlockScores + i] = 0;
                    continue;
                }
                hideInBlock(scores, seen, block);
            }
#pragma unroll
            for (int i = block * kBlockScores; i < (block + 1) * kBlockScores; ++i) {
                scores[i] = exp2Approximate(fmaf(scores[i], scaleLog2, -subtracted[i / 2 % 2]));
                chains[i % 4] += scores[i];
            }
        }
        sums[0] = chains[0] + chains[1];
        sums[1] = chains[2] + chains[3];
    }

    /// The largest of the first `Count` scores of each row.
    template <int Count> __device__ static void largest(const Scores& scores, float (&max)[2])
    {
        float chains[4];
#pragma unroll
        for (int chain = 0; chain < 4; ++chain)
            chains[chain] = scores[chain];
#pragma unroll
        for (int i = 4; i < Count; ++i)
            chains[i % 4] = fmaxf(chains[i % 4], scores[i]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            max[half] = fmaxf(chains[2 * half], chains[2 * half + 1]);
            max[half] = fmaxf(max[half], __shfl_xor_sync(~0U, max[half], 1));
            max[half] = fmaxf(max[half], __shfl_xor_sync(~0U, max[half], 2));
        }
    }

    /// Exponentials with the rows' largest scores so far as offsets.
    /// \param rescale  factor for the sums made with the previous offsets
    __device__ void exponentiate(Scores& scores, float scaleLog2, float (&rescale)[2])
    {
        float max[2], subtracted[2], sums[2];
        largest<kScores>(scores, max);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float before = offset[half];
            offset[half] = fmaxf(max[half] * scaleLog2, before);
            // -infinity - (-infinity) would be NaN.
            subtracted[half] = offset[half] == -INFINITY ? 0.0f : offset[half];
            rescale[half] = exp2Approximate(before - subtracted[half]);
        }
        exponentials<false>(scores, scaleLog2, subtracted, {}, sums);
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] = sum[half] * rescale[half] + sums[half];
    }

    /// Chooses the offset of a row's first tile from a few of its scores.
    __device__ void chooseOffset(const Scores& scores, float scaleLog2)
    {
        largest<kScores / 4>(scores, offset);
        offset[0] *= scaleLog2;
        offset[1] *= scaleLog2;
    }

    /// Exponentials with the present offset, without a search for the largest score: any offset that keeps
    /// them in range is correct. False if they are out of range for a row of this warp; then call
    /// exponentiate().
    template <bool kMasked>
    __device__ bool exponentiateWithOffset(Scores& scores, float scaleLog2, const Seen& seen)
    {
        // fp16 ends at 2^16. In bf16 the rest of fp32's range is for v and for sums over a million keys.
        constexpr float kMost = std::is_same_v<Element, __half> ? 0x1p14F : 0x1p40F;
        float sums[2];
        exponentials<kMasked>(scores, scaleLog2, offset, seen, sums);
        const bool fits = __all_sync(~0U, sums[0] <= kMost && sums[1] <= kMost); // false for NaN
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] += fits ? sums[half] : 0;
        return fits;
    }

    /// scores = q k^T again, by a single warp with mma.sync. Reads k from global memory, because its stage
    /// may have been released.
    /// \param query  the consumer's 64 rows
    /// \param keys   from the tile's first on
    __device__ static void recomputeScores(Scores& scores, const unsigned char* query, const Element* keys,
                                           std::int64_t keyStride, int keysLeft, int headDim)
    {
        const int lane = threadIdx.x % 32;
        const int warpRow = threadIdx.x % kWarpgroup / 32 * 16;
        keys += lane / 4 * keyStride + 2 * (lane % 4);
#pragma unroll
        for (float& score : scores)
            score = 0;
#pragma unroll 1
        for (int chunk = 0; chunk < Tile::headDim / 8; chunk += 2, keys += 16) {
            std::uint32_t a[4];
            ptx::loadMatrices(a, chunkAddress(query, Tile::queries, warpRow + lane % 16, chunk + lane / 16));
            const Element* at = keys;
#pragma unroll
            for (int block = 0; block < Tile::keys / 8; ++block, at += 8 * keyStride) {
                asm volatile("" : "+l"(at)); // keeps one address in registers
                const bool there = block * 8 + lane / 4 < keysLeft;
                const std::uint32_t b[2] = {there && chunk * 8 < headDim ? loadWord(at) : 0,
                                            there && chunk * 8 + 8 < headDim ? loadWord(at + 8) : 0};
                multiplyFragment(reinterpret_cast<float(&)[4]>(scores[4 * block]), a, b);
            }
        }
    }

    __device__ static void multiplyFragment(float (&c)[4], const std::uint32_t (&a)[4],
                                            const std::uint32_t (&b)[2])
    {
        if constexpr (std::is_same_v<Element, __nv_bfloat16>)
            ptx::multiplyBf16(c, a, b);
        else
            ptx::multiplyFp16(c, a, b);
    }

    __device__ void rescaleOutput(const float (&rescale)[2])
    {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i)
            output[i] *= rescale[i / 2 % 2];
    }

    __device__ void packWeights(const Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < kScores / 2; ++i)
            weights[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
    }

    /// Finishes the softmax: writes the log-sum-exp.
    /// \param row        the first of this thread's two, in the head
    /// \param logSumExp  of the head's first row
    /// \param inverse    result: factors for the rows of o
    __device__ void finishSoftmax(int queries, int row, float* logSumExp, float (&inverse)[2]) const
    {
        constexpr float kLn2 = 0.693147180559945f;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = sum[half];
            total += __shfl_xor_sync(~0U, total, 1);
            total += __shfl_xor_sync(~0U, total, 2);
            inverse[half] = total == 0 ? 0 : __fdividef(1.0f, total); // no key seen: o = 0
            const int query = row + 8 * half;
            if (threadIdx.x % 4 == 0 && query < queries)
                logSumExp[query] = total == 0 ? -INFINITY : (offset[half] + __log2f(total)) * kLn2;
        }
    }

    /// Writes o to shared memory, over the tile of q.
    /// \param tile  the consumer's 64 rows
    __device__ void writeOutput(unsigned char* tile, const float (&inverse)[2]) const
    {
        writeRows<Tile, Element>(tile, output, inverse);
    }
};

} // namespace tilescope::kernels::hopper
