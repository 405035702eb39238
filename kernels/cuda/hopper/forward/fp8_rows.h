#pragma once

#include "kernels/cuda/hopper/forward/fp8_tile.h"
#include "kernels/cuda/hopper/forward/rows.h"

namespace tilescope::kernels::hopper {

/// An FP8 consumer thread's part of its two rows.
///
/// A score s of FP8 numbers corresponds to s * scale for the original numbers. A tile's values have the scale
/// 2^bias. The exponentials of a tile are multiplied by 2^bias, so that the output needs no separate scale,
/// and their sum is divided by it.
template <class Tile> struct Fp8Rows : ForwardRows<Tile, __nv_fp8_e4m3> {
    using Rows = ForwardRows<Tile, __nv_fp8_e4m3>;
    using Rows::offset;
    using Rows::output;
    using Rows::sum;
    using Rows::weights;
    using typename Rows::Scores;
    using typename Rows::Seen;
    static constexpr float kLargest = 448; ///< of E4M3
    /// Log2 of the exponential of a row's largest score when the offset is chosen. 2^3 lets scores grow by a factor of 56
    /// and keeps 9 binary orders below the largest exponential as normal numbers.
    static constexpr float kHeadroom = 3;

    struct Scale {
        float scale;
        float bias;
        float inverse; ///< 2^-bias
    };

    /// Scales of the current tile, which depend on its rows, and of its keys.
    struct Scaling {
        const Fp8KeyTileScales* keys;
        float rows;
        Fp8KeyTileScales step;

        __device__ void startTile(const ForwardArguments& all, const TileCoordinate& at, int headInTile,
                                  int row)
        {
            const auto& arguments = static_cast<const Fp8Arguments&>(all);
            const int head = at.batch * arguments.queryHeads + at.head * arguments.packedHeads + headInTile;
            const int block = min(row / kFp8QueryBlock, arguments.queryBlocks - 1);
            rows = arguments.scaleLog2 *
                   arguments.queryScales[std::int64_t{head} * arguments.queryBlocks + block];
            keys = arguments.keyScales +
                   std::int64_t{at.batch * arguments.keyHeads + at.head / arguments.tilesPerKeyHead} *
                       arguments.keyTiles;
        }
        /// Loads early: the scores are there after their product.
        __device__ void startStep(int keyTile)
        {
            const float2 loaded = __ldg(reinterpret_cast<const float2*>(keys) + keyTile);
            step = {loaded.x, loaded.y};
        }
        __device__ Scale of(const ForwardArguments&) const
        {
            const std::uint32_t bits = __float_as_uint(step.value);
            constexpr std::uint32_t kBias = 127;
            return {rows * step.key,
                    static_cast<float>(static_cast<int>(bits >> 23) - static_cast<int>(kBias)),
                    __uint_as_float((2 * kBias << 23) - bits)};
        }
    };

    /// V transposed: K-major.
    __device__ static std::uint64_t valueOperand(std::uint32_t address) { return matrixDescriptor(address); }

    /// output += weights v. Asynchronous.
    __device__ void multiplyValues(std::uint64_t value)
    {
#pragma unroll
        for (int step = 0; step < Tile::keys / kFp8Depth; ++step)
            productFromRegisters<__nv_fp8_e4m3>(output, weights + 4 * step,
                                                advance(value, stepOffset(Tile::headDim, step)));
    }

    /// Exponentials with the rows' largest scores so far as offsets.
    /// \param rescale  factor for the sums made with the previous offsets
    __device__ void exponentiate(Scores& scores, Scale scale, float (&rescale)[2])
    {
        float max[2], subtracted[2], sums[2];
        Rows::template largest<Rows::kScores>(scores, max);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float before = offset[half];
            offset[half] = fmaxf(fmaf(max[half], scale.scale, scale.bias - kHeadroom), before);
            // -infinity - (-infinity) would be NaN.
            const float finite = offset[half] == -INFINITY ? 0.0f : offset[half];
            subtracted[half] = finite - scale.bias;
            rescale[half] = exp2Approximate(before - finite);
        }
        Rows::template exponentials<false>(scores, scale.scale, subtracted, {}, sums);
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] = fmaf(sum[half], rescale[half], sums[half] * scale.inverse);
    }

    /// Chooses the offset of a row's first tile from a few of its scores.
    __device__ void chooseOffset(const Scores& scores, Scale scale)
    {
        Rows::template largest<Rows::kScores / 4>(scores, offset);
#pragma unroll
        for (int half = 0; half < 2; ++half)
            offset[half] = fmaf(offset[half], scale.scale, scale.bias - kHeadroom);
    }

    /// Exponentials with the present offset. False if they are out of range for a row of this warp; then call
    /// exponentiate().
    template <bool kMasked>
    __device__ bool exponentiateWithOffset(Scores& scores, Scale scale, const Seen& seen)
    {
        const float subtracted[2] = {offset[0] - scale.bias, offset[1] - scale.bias};
        float sums[2];
        Rows::template exponentials<kMasked>(scores, scale.scale, subtracted, seen, sums);
        const bool fits = __all_sync(~0U, sums[0] <= kLargest && sums[1] <= kLargest); // false for NaN
#pragma unroll
        for (int half = 0; half < 2; ++half)
            sum[half] += fits ? sums[half] * scale.inverse : 0;
        return fits;
    }

    /// scores = q k^T again, as ForwardRows does.
    __device__ static void recomputeScores(Scores& scores, const unsigned char* query,
                                           const __nv_fp8_e4m3* keys, std::int64_t keyStride, int keysLeft,
                                           int headDim)
    {
        const int lane = threadIdx.x % 32;
        const int warpRow = threadIdx.x % kWarpgroup / 32 * 16;
        keys += lane / 4 * keyStride + 4 * (lane % 4);
#pragma unroll
        for (float& score : scores)
            score = 0;
#pragma unroll 1
        for (int chunk = 0; chunk < Tile::headDim / 16; chunk += 2, keys += kFp8Depth) {
            std::uint32_t a[4];
            ptx::loadMatrices(a, chunkAddress(query, Tile::queries, warpRow + lane % 16, chunk + lane / 16));
            const __nv_fp8_e4m3* at = keys;
#pragma unroll
            for (int block = 0; block < Tile::keys / 8; ++block, at += 8 * keyStride) {
                asm volatile("" : "+l"(at)); // keeps one address in registers
                const bool there = block * 8 + lane / 4 < keysLeft;
                const std::uint32_t b[2] = {there && chunk * 16 < headDim ? loadWord(at) : 0,
                                            there && chunk * 16 + 16 < headDim ? loadWord(at + 16) : 0};
                multiplyFp8(reinterpret_cast<float(&)[4]>(scores[4 * block]), a, b);
            }
        }
    }

    __device__ void packWeights(const Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < Rows::kScores / 4; ++i) {
            const int low = accumulatorOfFp8Operand(i, 0);
            const int high = accumulatorOfFp8Operand(i, 1);
            weights[i] = packFp8(scores[low], scores[low + 1], scores[high], scores[high + 1]);
        }
    }

    /// Writes o to shared memory, over the tile of q.
    /// \param tile  the consumer's 64 rows
    __device__ void writeOutput(unsigned char* tile, const float (&inverse)[2]) const
    {
        writeRows<Tile, __nv_bfloat16>(tile, output, inverse);
    }
};

} // namespace tilescope::kernels::hopper
