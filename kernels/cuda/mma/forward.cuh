#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/mma/fragments.h"
#include "kernels/cuda/mma/launchers.h"
#include "kernels/cuda/mma/parameters.h"
#include "kernels/cuda/mma/tiles.h"

#include <cmath>
#include <utility>

namespace tilescope::kernels {

/// Attention forward with mma.sync, for every precision from compute capability 8.0 on.
///
/// A thread block holds one tile of queries and iterates over the tiles of keys that they see
/// (FlashAttention-2, arXiv:2307.08691). Bound: 4 * queries * keys * headDim operations on the tensor cores.
/// Each warp reads each 16 x 8 fragment of K and V from shared memory, at 128 bytes per clock; with one
/// fragment of queries per warp this takes as long as the products.
///
/// Shared memory: Q | K | V, single tiles. V is loaded while the block multiplies with K, and vice versa:
///
///     K(j) arrives -> [start V(j)]   S = Q K(j)^T, softmax
///     V(j) arrives -> [start K(j+1)] O += P V(j)
template <class Precision, int kHeadDim, TileSize kSize> struct MmaForward {
    using Element = typename Precision::Element;
    using Tile = OperandTile<Precision, kHeadDim>;
    using OutputTile = SharedTile<Element, kHeadDim>;
    static constexpr MmaForwardTile kTile = mmaForwardTile(kArithmetic<Precision>, kHeadDim, kSize);
    static constexpr int kThreads = kTile.warps * 32;
    static constexpr int kFragments = kTile.fragments;
    static constexpr int kRowGroups = kTile.warps / kTile.keyGroups;
    static constexpr int kGroupKeys = kTile.keys / kTile.keyGroups; ///< keys of a tile per warp
    static constexpr int kKeyBlocks = kGroupKeys / 8;
    static constexpr int kSharedBytes = Tile::bytes(kTile.queries() + 2 * kTile.keys);

    /// For each of a lane's rows (fragment, row g or g + 8): largest score, its product with the scale, sum.
    struct Rows {
        float maximum[kFragments][2];
        float offset[kFragments][2];
        float sum[kFragments][2];
    };

    __device__ static void run(const ForwardParameters& p, std::byte* shared)
    {
        const KernelShape& shape = p.shape;
        const auto [queryTile, head, batch] = p.order.position(static_cast<int>(blockIdx.x));
        const int firstQuery = queryTile * kTile.queries();
        const int rows = min(kTile.queries(), shape.queries - firstQuery);
        const MaskPolicy<int> mask = shape.mask();
        const int keysSeen = mask.keysSeenBy(firstQuery + rows - 1);

        const Tile queries{shared};
        const Tile keys{shared + Tile::bytes(kTile.queries())};
        const Tile values{shared + Tile::bytes(kTile.queries() + kTile.keys)};
        const Element* k = headOf<Element>(p.k, batch, head / shape.group());
        const Element* v = headOf<Element>(p.v, batch, head / shape.group());
        RowsCopy<Precision, Tile, kThreads, kTile.keys> nextKeys{keys};
        RowsCopy<Precision, Tile, kThreads, kTile.keys> nextValues{values};
        const auto startCopy = [&](auto& copy, const Element* from, std::int64_t stride, int key) {
            copy.start(from + key * stride, stride, shape.keys - key, shape.headDim);
        };
        {
            RowsCopy<Precision, Tile, kThreads, kTile.queries()> copy{queries};
            copy.start(headOf<Element>(p.q, batch, head) + firstQuery * p.q.rowStride, p.q.rowStride, rows,
                       shape.headDim);
            startCopy(nextKeys, k, p.k.rowStride, 0);
            copy.finish();
            nextKeys.finish();
        }

        float output[kFragments][kHeadDim / 8][4] = {};
        Rows state;
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            state.maximum[m][0] = state.maximum[m][1] = -INFINITY;
            state.offset[m][0] = state.offset[m][1] = -INFINITY;
            state.sum[m][0] = state.sum[m][1] = 0;
        }
        const int warpRow = warp() % kRowGroups * kFragments * 16;
        const int warpKey = warp() / kRowGroups * kGroupKeys;
        for (int key = 0; key < keysSeen; key += kTile.keys) {
            __syncthreads();
            startCopy(nextValues, v, p.v.rowStride, key);
            float scores[kFragments][kKeyBlocks][4] = {};
            multiplyRows<Precision>(scores, queries, warpRow, keys, warpKey);
            if (key + kTile.keys > mask.keysSeenBy(firstQuery)) {
                maskScores(scores, mask, firstQuery + warpRow, key + warpKey);
            }
            softmax(scores, output, state, shape.scale * Precision::kExponentUnit);
            nextValues.finish();
            __syncthreads();
            const bool more = key + kTile.keys < keysSeen;
            if (more) {
                startCopy(nextKeys, k, p.k.rowStride, key + kTile.keys);
            }
            multiply(output, scores, values, warpKey, shape.keys);
            if (more) {
                nextKeys.finish();
            }
        }
        // The tiles are no longer read. Each warp overwrites those of its own rows.
        __syncthreads();
        if constexpr (kTile.keyGroups > 1) {
            if (!mergeGroups(output, state, reinterpret_cast<float4*>(keys.base))) {
                return;
            }
        }
        finish(p, output, state, OutputTile{shared}, batch, head, firstQuery, rows);
    }

private:
    __device__ static int warp()
    {
        return threadIdx.x / 32;
    }

    /// output += P V. For few keys in TF32, P is not rounded: its rounding error would enter backward's
    /// delta, where nothing cancels it. For many keys it averages out.
    __device__ static void multiply(float (&output)[kFragments][kHeadDim / 8][4],
                                    const float (&scores)[kFragments][kKeyBlocks][4], Tile values,
                                    int warpKey, int keyCount)
    {
        if constexpr (kArithmetic<Precision> == Arithmetic::Tf32) {
            constexpr int kFewKeys = 512;
            if (keyCount <= kFewKeys) {
                return multiplyUnrounded(output, scores, values);
            }
        }
        multiplyAccumulators<Precision>(output, scores, values, 0, warpKey);
    }

    /// Merges the outputs of warps that share rows into the first of them. False for the other warps.
    __device__ static bool mergeGroups(float (&output)[kFragments][kHeadDim / 8][4], Rows& state,
                                       float4* scratch)
    {
        constexpr int kVectors = kHeadDim / 8 + 1; // per lane: output; offsets and sums
        static_assert(kFragments == 1 && kTile.warps * kVectors * 32 * 16 <= Tile::bytes(2 * kTile.keys));
        const auto at = [&](int group, int vector) -> float4& {
            return scratch[((group * kRowGroups + warp() % kRowGroups) * kVectors + vector) * 32 + lane()];
        };
        const int group = warp() / kRowGroups;
        if (group > 0) {
#pragma unroll
            for (int n = 0; n < kHeadDim / 8; ++n) {
                at(group, n) =
                    make_float4(output[0][n][0], output[0][n][1], output[0][n][2], output[0][n][3]);
            }
            at(group, kVectors - 1) =
                make_float4(seenOffset(state, 0), seenOffset(state, 1), state.sum[0][0], state.sum[0][1]);
        }
        __syncthreads();
        if (group > 0) {
            return false;
        }
        for (int other = 1; other < kTile.keyGroups; ++other) {
            const float4 theirs = at(other, kVectors - 1);
            float mine[2];
            float factor[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float theirOffset = half ? theirs.y : theirs.x;
                const float offset = fmaxf(seenOffset(state, half), theirOffset);
                // If neither has seen a key, both sums are 0.
                const float common = offset == -INFINITY ? 0.0f : offset;
                mine[half] = Precision::exponential(seenOffset(state, half) - common);
                factor[half] = Precision::exponential(theirOffset - common);
                state.maximum[0][half] = state.offset[0][half] = offset;
                state.sum[0][half] =
                    state.sum[0][half] * mine[half] + (half ? theirs.w : theirs.z) * factor[half];
            }
#pragma unroll
            for (int n = 0; n < kHeadDim / 8; ++n) {
                const float4 add = at(other, n);
                float(&sums)[4] = output[0][n];
                sums[0] = sums[0] * mine[0] + add.x * factor[0];
                sums[1] = sums[1] * mine[0] + add.y * factor[0];
                sums[2] = sums[2] * mine[1] + add.z * factor[1];
                sums[3] = sums[3] * mine[1] + add.w * factor[1];
            }
        }
        return true;
    }
    /// The offset of a row's exponents; -infinity if the row has seen no key.
    __device__ static float seenOffset(const Rows& state, int half)
    {
        return state.maximum[0][half] == -INFINITY ? -INFINITY : state.offset[0][half];
    }

    __device__ static void maskScores(float (&scores)[kFragments][kKeyBlocks][4], MaskPolicy<int> mask,
                                      int query, int key)
    {
        const int g = lane() / 4;
        const int t = lane() % 4;
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int seen = mask.keysSeenBy(query + m * 16 + half * 8 + g) - key;
#pragma unroll
                for (int n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float& score = scores[m][n][2 * half + i];
                        score = n * 8 + 2 * t + i < seen ? score : -INFINITY;
                    }
                }
            }
        }
    }

    /// Replaces scores by exponentials with the new maximum, and rescales the sums made with the old one.
    __device__ static void softmax(float (&scores)[kFragments][kKeyBlocks][4],
                                   float (&output)[kFragments][kHeadDim / 8][4], Rows& state, float scale)
    {
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float maximum = state.maximum[m][half];
#pragma unroll
                for (int n = 0; n < kKeyBlocks; ++n) {
                    maximum = fmaxf(maximum, fmaxf(scores[m][n][2 * half], scores[m][n][2 * half + 1]));
                }
                // Over the four lanes of a row.
                maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 1));
                maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 2));
                // -infinity - (-infinity) would be NaN.
                const float offset = maximum == -INFINITY ? 0.0f : maximum * scale;
                // Of rounded offsets, so that the factor is exactly 1 if the maximum does not change.
                const float factor = Precision::exponential(state.offset[m][half] - offset);
                state.maximum[m][half] = maximum;
                state.offset[m][half] = offset;
                float sum = 0;
#pragma unroll
                for (int n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float& score = scores[m][n][2 * half + i];
                        score = Precision::exponential(fmaf(score, scale, -offset));
                        sum += score;
                    }
                }
                state.sum[m][half] = state.sum[m][half] * factor + sum;
#pragma unroll
                for (int n = 0; n < kHeadDim / 8; ++n) {
                    output[m][n][2 * half] *= factor;
                    output[m][n][2 * half + 1] *= factor;
                }
            }
        }
    }

    /// Over the four lanes that share a row.
    __device__ static float sumOfRow(float value)
    {
        value += __shfl_xor_sync(~0u, value, 1);
        return value + __shfl_xor_sync(~0u, value, 2);
    }

    __device__ static void finish(const ForwardParameters& p,
                                  const float (&output)[kFragments][kHeadDim / 8][4], Rows& state,
                                  OutputTile staging, int batch, int head, int firstQuery, int rows)
    {
        const int warpRow = warp() % kRowGroups * kFragments * 16;
        float* logSumExp =
            p.logSumExp + (std::int64_t(batch) * p.shape.queryHeads + head) * p.shape.queries + firstQuery;
        RowStatistics<float>* statistics = p.statistics ? p.statistics + (logSumExp - p.logSumExp) : nullptr;
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            float reciprocal[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float sum = sumOfRow(state.sum[m][half]);
                reciprocal[half] = sum > 0 ? 1 / sum : 0;
                // NaN propagates to the output, as in naive attention.
                reciprocal[half] = sum == sum ? reciprocal[half] : sum;
                const int row = warpRow + m * 16 + half * 8 + lane() / 4;
                if (lane() % 4 == 0 && row < rows) {
                    const float natural = state.offset[m][half] / Precision::kExponentUnit;
                    logSumExp[row] = sum == 0 ? -INFINITY : natural + logf(sum);
                    if (statistics) {
                        statistics[row] = {state.offset[m][half], reciprocal[half]};
                    }
                }
            }
            storeAccumulators<Precision>(output[m], staging, warpRow + m * 16,
                                         [&](int half) { return reciprocal[half]; });
        }
        __syncwarp();
        const OutputTile mine{staging.at(warpRow, 0)};
        writeRows<32, kFragments * 16>(
            mine, headOf<Element>(p.o, batch, head) + (firstQuery + warpRow) * p.o.rowStride, p.o.rowStride,
            rows - warpRow, p.shape.headDim, lane());
    }
};

template <class Precision, int kHeadDim, TileSize kSize>
__global__ void __launch_bounds__(MmaForward<Precision, kHeadDim, kSize>::kThreads)
    mmaForwardKernel(const __grid_constant__ ForwardParameters parameters)
{
    extern __shared__ __align__(128) std::byte shared[];
    MmaForward<Precision, kHeadDim, kSize>::run(parameters, shared);
}

template <class Precision, int kHeadDim, TileSize kSize>
cudaError_t launchMmaForwardTile(ForwardParameters parameters, cudaStream_t stream)
{
    using Kernel = MmaForward<Precision, kHeadDim, kSize>;
    constexpr auto kKernel = mmaForwardKernel<Precision, kHeadDim, kSize>;
    if (const cudaError_t status = allowSharedMemory<kKernel>(Kernel::kSharedBytes); status != cudaSuccess) {
        return status;
    }
    const KernelShape& shape = parameters.shape;
    const std::int64_t bytesPerHead = 2LL * sizeof(typename Precision::Element) * shape.keys * shape.headDim;
    parameters.order =
        TileOrder::make((shape.queries + Kernel::kTile.queries() - 1) / Kernel::kTile.queries(),
                        shape.queryHeads, shape.batch, shape.causal, bytesPerHead);
    kKernel<<<parameters.order.tiles, Kernel::kThreads, Kernel::kSharedBytes, stream>>>(parameters);
    return cudaGetLastError();
}

template <class Precision, int kHeadDim>
cudaError_t launchMmaForward(const ForwardParameters& parameters, cudaStream_t stream)
{
    using Usual = MmaForward<Precision, kHeadDim, TileSize::Usual>;
    using Few = MmaForward<Precision, kHeadDim, TileSize::Few>;
    using Compact = MmaForward<Precision, kHeadDim, TileSize::Compact>;
    static_assert(Compact::kSharedBytes <= kMinSharedBytes);
    const DeviceProperties& device = currentDeviceProperties();
    // Where the usual blocks would leave half of the device idle, smaller ones are faster (kernels/NOTES.md).
    // Only for 4-byte elements, where few rows are common.
    if constexpr (kHeadDim <= (kIsFp32<Precision> ? 128 : 64) && !kIsSixteenBit<Precision>) {
        const KernelShape& shape = parameters.shape;
        constexpr int kRows = Usual::kTile.queries();
        const std::int64_t blocks =
            std::int64_t{(shape.queries + kRows - 1) / kRows} * shape.queryHeads * shape.batch;
        // Smaller blocks cost little in TF32. Under a causal mask, of two large blocks on a multiprocessor
        // the longer one runs alone at the end.
        const int most = kIsFp32<Precision> ? 1 : (shape.causal ? 4 : 2);
        const bool few = 2 * blocks <= std::int64_t{most} * device.multiprocessors;
        if (few && device.sharedMemoryBytes >= Few::kSharedBytes) {
            return launchMmaForwardTile<Precision, kHeadDim, TileSize::Few>(parameters, stream);
        }
    }
    if constexpr (Usual::kSharedBytes > kMinSharedBytes) {
        if (device.sharedMemoryBytes < Usual::kSharedBytes) {
            return launchMmaForwardTile<Precision, kHeadDim, TileSize::Compact>(parameters, stream);
        }
    }
    return launchMmaForwardTile<Precision, kHeadDim, TileSize::Usual>(parameters, stream);
}

/// The launchers of a precision, by head dim.
template <class Precision> constexpr MmaForwardLaunchers mmaForwardLaunchers()
{
    return []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
    {
        return MmaForwardLaunchers{&launchMmaForward<Precision, kMmaHeadDims[kIndex]>...};
    }
    (std::make_index_sequence<kMmaHeadDimCount>());
}

} // namespace tilescope::kernels
