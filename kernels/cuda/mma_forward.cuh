#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/mma_tiles.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/shared_tile.h"

#include <cmath>

namespace tilescope::kernels {

/// Attention forward with mma.sync, for every precision from compute capability 8.0 on.
///
/// A block of four warps holds one tile of queries and walks over the tiles of keys that these see
/// (FlashAttention-2, arXiv:2307.08691). Bound: 4 * queries * keys * headDim operations on the tensor cores;
/// each 16 x 8 fragment of K and V comes from shared memory once a warp, 128 bytes a clock, which at one
/// fragment of queries a warp is already as slow as the products.
///
/// Shared memory: Q | K | V, single tiles. While the block multiplies with K, V is on its way, and the other
/// way round:
///
///     K(j) arrives -> [start V(j)]   S = Q K(j)^T, softmax
///     V(j) arrives -> [start K(j+1)] O += P V(j)
template <class Precision, int kHeadDim, int kFragmentCount> struct MmaForward {
    using Element = typename Precision::Element;
    using Tile = SharedTile<Element, kHeadDim>;
    static constexpr MmaForwardTile kTile = mmaForwardTile(sizeof(Element), kHeadDim, kFragmentCount);
    static constexpr int kThreads = kTile.warps * 32;
    static constexpr int kFragments = kTile.fragments;
    static constexpr int kKeyBlocks = kTile.keys / 8;
    static constexpr int kSharedBytes = Tile::bytes(kTile.queries() + 2 * kTile.keys);

    /// Of each of a lane's rows (fragment, row g or g + 8): largest score, its product with the scale, sum.
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
        const auto copyTile = [&](Tile to, const Element* from, std::int64_t stride, int key) {
            copyRows<kThreads, kTile.keys>(to, from + key * stride, stride, shape.keys - key, shape.headDim);
            ptx::commitCopies();
        };
        copyRows<kThreads, kTile.queries()>(queries,
                                            headOf<Element>(p.q, batch, head) + firstQuery * p.q.rowStride,
                                            p.q.rowStride, rows, shape.headDim);
        copyTile(keys, k, p.k.rowStride, 0);

        float output[kFragments][kHeadDim / 8][4] = {};
        Rows state;
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            state.maximum[m][0] = state.maximum[m][1] = -INFINITY;
            state.offset[m][0] = state.offset[m][1] = -INFINITY;
            state.sum[m][0] = state.sum[m][1] = 0;
        }
        const int warpRow = threadIdx.x / 32 * kFragments * 16;
        for (int key = 0; key < keysSeen; key += kTile.keys) {
            ptx::waitCopies<0>();
            __syncthreads();
            copyTile(values, v, p.v.rowStride, key);
            float scores[kFragments][kKeyBlocks][4] = {};
            multiplyRows<Precision>(scores, queries, warpRow, keys);
            if (key + kTile.keys > mask.keysSeenBy(firstQuery)) {
                maskScores(scores, mask, firstQuery + warpRow, key);
            }
            softmax(scores, output, state, shape.scale * Precision::kExponentUnit);
            ptx::waitCopies<0>();
            __syncthreads();
            if (key + kTile.keys < keysSeen) {
                copyTile(keys, k, p.k.rowStride, key + kTile.keys);
            }
            multiplyAccumulators<Precision>(output, scores, values);
        }
        // The copies of the queries, where no key was seen.
        ptx::waitCopies<0>();
        finish(p, output, state, queries, batch, head, firstQuery, rows);
    }

private:
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

    /// Turns scores into exponentials under the new maximum and rescales what was summed under the old one.
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
                // The four lanes of a row agree.
                maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 1));
                maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 2));
                // A row that has seen nothing yet must not compute (-infinity) - (-infinity).
                const float offset = maximum == -INFINITY ? 0.0f : maximum * scale;
                // From the rounded offsets: where the maximum stays, the factor is exactly 1.
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
                                  Tile staging, int batch, int head, int firstQuery, int rows)
    {
        const int warpRow = threadIdx.x / 32 * kFragments * 16;
        float* logSumExp =
            p.logSumExp + (std::int64_t(batch) * p.shape.queryHeads + head) * p.shape.queries + firstQuery;
        RowStatistics<float>* statistics = p.statistics ? p.statistics + (logSumExp - p.logSumExp) : nullptr;
        // All warps are done with the queries; each writes and reads its own rows of their tile from here on.
        __syncthreads();
#pragma unroll
        for (int m = 0; m < kFragments; ++m) {
            float reciprocal[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float sum = sumOfRow(state.sum[m][half]);
                reciprocal[half] = sum > 0 ? 1 / sum : 0;
                // NaN goes on to the output as naive attention would hand it on.
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
        const Tile mine{staging.at(warpRow, 0)};
        writeRows<32, kFragments * 16>(
            mine, headOf<Element>(p.o, batch, head) + (firstQuery + warpRow) * p.o.rowStride, p.o.rowStride,
            rows - warpRow, p.shape.headDim, lane());
    }
};

template <class Precision, int kHeadDim, int kFragments>
__global__ void __launch_bounds__(MmaForward<Precision, kHeadDim, kFragments>::kThreads)
    mmaForwardKernel(const __grid_constant__ ForwardParameters parameters)
{
    extern __shared__ __align__(128) std::byte shared[];
    MmaForward<Precision, kHeadDim, kFragments>::run(parameters, shared);
}

template <class Precision, int kHeadDim, int kFragments>
cudaError_t launchMmaForwardTile(ForwardParameters parameters, cudaStream_t stream)
{
    using Kernel = MmaForward<Precision, kHeadDim, kFragments>;
    static_assert(Kernel::kSharedBytes <= kLeastSharedBytes);
    constexpr auto kKernel = mmaForwardKernel<Precision, kHeadDim, kFragments>;
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
    constexpr int kElement = sizeof(typename Precision::Element);
    constexpr int kFragments = mmaForwardTile(kElement, kHeadDim).fragments;
    // Fewer blocks than multiprocessors: smaller ones fill the device better, where splitting K and V once
    // more costs less than that (kernels/NOTES.md). Only in 32 bits, where few rows are common.
    if constexpr (kFragments > 1 && kElement == 4 && (kHeadDim <= 64 || kIsFp32<Precision>)) {
        const KernelShape& shape = parameters.shape;
        constexpr int kRows = mmaForwardTile(kElement, kHeadDim).queries();
        const std::int64_t blocks =
            std::int64_t{(shape.queries + kRows - 1) / kRows} * shape.queryHeads * shape.batch;
        // Under a causal mask half of the blocks end early, and two a multiprocessor leave it to one of them.
        if (blocks <= (shape.causal ? 2 : 1) * std::int64_t{currentDeviceFacts().multiprocessors}) {
            return launchMmaForwardTile<Precision, kHeadDim, 1>(parameters, stream);
        }
    }
    return launchMmaForwardTile<Precision, kHeadDim, kFragments>(parameters, stream);
}

} // namespace tilescope::kernels
