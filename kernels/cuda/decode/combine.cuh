#pragma once

#include "kernels/cuda/decode/parameters.h"
#include "kernels/cuda/mma/precision.h"

#include <cmath>

/// How decode combines the parts of an item that several CTAs have computed.
namespace tilescope::kernels {

/// One CTA's part of an item, in the workspace: for each row kHeadDim sums of exponentials times values, then for each
/// row the offset of its exponents and the sum of its exponentials.
template <int kHeadDim> struct DecodePart {
    float* workspace;
    int rows;
    std::int64_t number;

    __device__ float* base() const { return workspace + number * rows * decodePartFloats(kHeadDim); }
    __device__ float* row(int row) const { return base() + row * kHeadDim; }
    __device__ float2& statistics(int row) const
    {
        return reinterpret_cast<float2*>(base() + rows * kHeadDim)[row];
    }
};

/// The destination of the rows of an item (batch, key head).
template <class Precision, int kHeadDim> struct DecodeOutput {
    using Element = typename Precision::Element;
    const DecodeParameters& p;
    int batch;
    int keyHead;
    int rows;

    /// The factor of a row's sums; 0 for rows that see no key. NaN stays NaN, as in naive attention.
    __device__ static float reciprocal(float sum) { return sum == 0 ? 0 : 1 / sum; }

    __device__ int head(int row) const { return keyHead * p.shape.group() + row / p.shape.queries; }

    __device__ void writeLogSumExp(int row, float offset, float sum) const
    {
        const std::int64_t headRow = (std::int64_t{batch} * p.shape.queryHeads + head(row)) * p.shape.queries;
        p.logSumExp[headRow + row % p.shape.queries] =
            sum == 0 ? -INFINITY : offset / Precision::kExponentUnit + logf(sum);
    }

    /// Writes columns `column` and column + 1, if they exist.
    __device__ void writeTwo(int row, int column, float first, float second) const
    {
        if (column < p.shape.headDim) {
            Element* to =
                headOf<Element>(p.o, batch, head(row)) + row % p.shape.queries * p.o.rowStride + column;
            *reinterpret_cast<std::uint32_t*>(to) = Precision::pack(first, second);
        }
    }
};

/// Counts this CTA's part as finished. True for all threads of the CTA that finishes the last one; it then sees what
/// the others have written. The counter is 0 again afterwards.
/// \param last     in shared memory; not written again before the next barrier
/// \param barrier  of all threads that call this
template <class Barrier>
__device__ bool isLastPart(unsigned& finished, int parts, bool& last, const Barrier& barrier)
{
    barrier();
    if (threadIdx.x == 0) {
        __threadfence(); // also orders what the other threads wrote before the barrier
        const auto others = static_cast<unsigned>(parts - 1);
        last = atomicInc(&finished, others) == others;
        __threadfence();
    }
    barrier();
    return last;
}

/// One warp combines a row of all parts, in the order of the keys. It loads kAtOnce parts at a time, the first of them
/// with the offsets that decide their weights.
template <class Precision, int kHeadDim>
__device__ void combineRow(const DecodeOutput<Precision, kHeadDim>& target, float* workspace, int firstCta,
                           int parts, int row)
{
    constexpr int kColumns = kHeadDim / 32; // per lane
    constexpr int kAtOnce = 8;
    static_assert(kColumns == 2 || kColumns == 4);
    using Vector = std::conditional_t<kColumns == 2, float2, float4>;
    const int lane = threadIdx.x % 32;
    const auto part = [&](int i) {
        return DecodePart<kHeadDim>{workspace, target.rows, KeySplit::part(firstCta + i, i == 0)};
    };
    Vector sums[kAtOnce];
    const auto loadSums = [&](int first) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            if (first + i < parts) {
                sums[i] = __ldcg(reinterpret_cast<const Vector*>(part(first + i).row(row)) + lane);
            }
        }
    };
    loadSums(0);
    float largest = -INFINITY;
    for (int i = lane; i < parts; i += 32) {
        largest = fmaxf(largest, __ldcg(&part(i).statistics(row)).x);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    }
    const float common = largest == -INFINITY ? 0.0f : largest; // no part has seen a key

    float sum = 0; // of this lane's parts
    float columns[kColumns] = {};
    for (int first = 0; first < parts; first += kAtOnce) {
        if (first > 0) {
            loadSums(first);
        }
        float weight = 0;
        if (lane < kAtOnce && first + lane < parts) {
            const float2 statistics = __ldcg(&part(first + lane).statistics(row));
            weight = Precision::exponential(statistics.x - common);
            sum += weight * statistics.y;
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const float factor = __shfl_sync(~0u, weight, i);
            if (first + i < parts) {
                const auto* values = reinterpret_cast<const float*>(&sums[i]);
#pragma unroll
                for (int c = 0; c < kColumns; ++c) {
                    columns[c] += values[c] * factor;
                }
            }
        }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    if (lane == 0) {
        target.writeLogSumExp(row, common, sum);
    }
    const float factor = DecodeOutput<Precision, kHeadDim>::reciprocal(sum);
#pragma unroll
    for (int c = 0; c < kColumns; c += 2) {
        target.writeTwo(row, lane * kColumns + c, columns[c] * factor, columns[c + 1] * factor);
    }
}

} // namespace tilescope::kernels
