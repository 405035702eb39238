#pragma once

#include "kernels/cuda/hopper/forward/rows.h"

namespace tilescope::kernels::hopper {

/// A TF32 consumer thread's part of its two rows. Products take twice as long as in bf16, which leaves time
/// to find each row's largest score.
template <class Tile> struct Tf32Rows : ForwardRows<Tile, float> {
    using Rows = ForwardRows<Tile, float>;
    using Rows::output;
    using Rows::weights;
    using typename Rows::Scores;
    static constexpr bool kFollowsLargest = true;

    /// V transposed: K-major.
    __device__ static std::uint64_t valueOperand(std::uint32_t address) { return matrixDescriptor(address); }

    /// output += weights v. Asynchronous.
    __device__ void multiplyValues(std::uint64_t value)
    {
#pragma unroll
        for (int step = 0; step < Tile::keys / kTf32Depth; ++step) {
            const std::uint64_t columns = advance(value, stepOffset(Tile::headDim, step));
            if constexpr (Tile::headDim == 96) { // wgmma.h has no product of this width
                auto& first = reinterpret_cast<float(&)[32]>(output);
                auto& rest = reinterpret_cast<float(&)[16]>(output[32]);
                productFromRegisters<float>(first, weights + 4 * step, columns);
                productFromRegisters<float>(rest, weights + 4 * step, advance(columns, 64 * kRowBytes));
            } else {
                productFromRegisters<float>(output, weights + 4 * step, columns);
            }
        }
    }

    /// Rounds, because the instruction would truncate.
    __device__ void packWeights(const Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < Rows::kScores; ++i)
            weights[i] = ptx::roundTf32(__float_as_uint(scores[accumulatorOfOperand(i)]));
    }

    /// The largest score changes in few steps and for few rows.
    __device__ void rescaleOutput(const float (&rescale)[2])
    {
        if (__any_sync(~0U, rescale[0] != 1 || rescale[1] != 1))
            Rows::rescaleOutput(rescale);
    }

    /// Writes o to shared memory, over the tile of q.
    /// \param tile  the consumer's 64 rows
    __device__ void writeOutput(unsigned char* tile, const float (&inverse)[2]) const
    {
#pragma unroll
        for (int i = 0; i < Rows::kOutputs; i += 2) {
            const Coordinates at = accumulatorAt(threadIdx.x % kWarpgroup, i);
            *reinterpret_cast<float2*>(tile + elementOffset(Tile::queries, at.row, at.column)) =
                make_float2(output[i] * inverse[i / 2 % 2], output[i + 1] * inverse[i / 2 % 2]);
        }
    }
};

} // namespace tilescope::kernels::hopper
