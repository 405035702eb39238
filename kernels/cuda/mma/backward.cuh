#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/mma/backward_rows.cuh"
#include "kernels/cuda/mma/fragments.h"
#include "kernels/cuda/mma/launchers.h"
#include "kernels/cuda/mma/tiles.h"

#include <cmath>
#include <utility>

namespace tilescope::kernels {

/// Attention backward with mma.sync. A thread block computes the gradients of one tile of keys and values,
/// and iterates over the queries that see it.
///
/// Scores are computed transposed (keys x queries), 16 keys per warp. Registers then hold P^T and dS^T as the
/// left factors of dV += P^T dO and dK += dS^T Q, and only dS goes through shared memory, for dQ += dS K.
/// Bound: five products of 2 * queries * keys * headDim operations. With 16 rows per warp, the reads of
/// shared memory take as long as the products.
///
/// Shared memory: K | V | Q | dO | dS^T | rows' statistics and delta, single tiles. One step:
///
///     wait for Q(i), dO(i) -> S^T = K Q^T, dP^T = V dO^T, P^T, dS^T -> dV, dK in registers
///     Q, dO have been read -> [start loads of Q(i+1), dO(i+1)]  dQ(i) = dS K, added in global memory
template <class Precision, int kHeadDim, TileSize kSize> struct MmaBackward {
    using Element = typename Precision::Element;
    static constexpr MmaBackwardTile kTile = mmaBackwardTile(kArithmetic<Precision>, kHeadDim, kSize);
    static constexpr int kThreads = kTile.warps * 32;
    static constexpr int kKeys = kTile.keys();
    static constexpr int kQueries = kTile.queries;
    static constexpr int kQueryBlocks = kQueries / 8 / kTile.queryGroups; ///< per warp
    static constexpr int kOutput = kHeadDim / kTile.outputSplit;
    // dQ: the warps divide its rows first, then its columns.
    static constexpr int kRowGroups = kQueries / 16 < kTile.warps ? kQueries / 16 : kTile.warps;
    static constexpr int kColumnGroups = kTile.warps / kRowGroups;
    static constexpr int kGradQColumns = kOutput / kColumnGroups;
    static_assert(kQueries / 16 % kRowGroups == 0 && kGradQColumns % 16 == 0);

    using Tile = OperandTile<Precision, kHeadDim>;
    using ScoreTile = OperandTile<Precision, kQueries>;
    using QueryCopy = RowsCopy<Precision, Tile, kThreads, kQueries>;
    using OutputTile = SharedTile<Element, kOutput>;
    static constexpr int kScoresAt = Tile::bytes(2 * kKeys + 2 * kQueries);
    static constexpr int kRowsAt = kScoresAt + ScoreTile::bytes(kKeys);
    static constexpr int kSharedBytes = kRowsAt + 3 * kQueries * int(sizeof(float));

    /// Statistics of a tile's queries, in shared memory.
    struct Rows {
        float* offset;     ///< of the exponent
        float* reciprocal; ///< of the sum, if Precision::kKeepsStatistics
        float* delta;
    };

    using Accumulators = float[1][kOutput / 8][4];
    using Scores = float[1][kQueryBlocks][4];

    const BackwardParameters& p;
    const KernelShape& shape;
    const MaskPolicy<int> mask;
    const TileCoordinate at; ///< its query tile is the tile of keys, its head the key head and columns
    const int keyTile;
    const int firstKey;
    const int firstColumn; ///< of the gradients
    const int keyHead;
    const int batch;
    const Tile keys, values, queries, gradOutput;
    const ScoreTile gradScores;
    const Rows rows;

    __device__ MmaBackward(const BackwardParameters& parameters, std::byte* shared)
        : p(parameters), shape(parameters.shape), mask(shape.mask()),
          at(p.order.position(static_cast<int>(blockIdx.x))),
          // Under a causal mask the order begins with its last tile, and most queries see the first keys.
          keyTile(mask.causal ? p.order.queryTiles - 1 - at.queryTile : at.queryTile),
          firstKey(keyTile * kKeys), firstColumn(at.head % kTile.outputSplit * kOutput),
          keyHead(at.head / kTile.outputSplit),
          batch(at.batch), keys{shared}, values{shared + Tile::bytes(kKeys)},
          queries{shared + Tile::bytes(2 * kKeys)}, gradOutput{shared + Tile::bytes(2 * kKeys + kQueries)},
          gradScores{shared + kScoresAt}, rows{reinterpret_cast<float*>(shared + kRowsAt),
                                               reinterpret_cast<float*>(shared + kRowsAt) + kQueries,
                                               reinterpret_cast<float*>(shared + kRowsAt) + 2 * kQueries}
    {
    }

    __device__ void run()
    {
        startTile(RowsCopy<Precision, Tile, kThreads, kKeys>{keys}, p.k, keyHead, firstKey, shape.keys)
            .finish();
        startTile(RowsCopy<Precision, Tile, kThreads, kKeys>{values}, p.v, keyHead, firstKey, shape.keys)
            .finish();
        Accumulators gradKeys = {};
        Accumulators gradValues = {};
        const int firstTile = mask.firstQueryOf(firstKey) / kQueries;
        const int tilesPerHead = (shape.queries + kQueries - 1) / kQueries - firstTile;
        const int steps = max(tilesPerHead, 0) * shape.group();
        const auto headOfStep = [&](int step) { return keyHead * shape.group() + step / tilesPerHead; };
        const auto queryOfStep = [&](int step) { return (firstTile + step % tilesPerHead) * kQueries; };
        QueryCopy nextQueries{queries};
        QueryCopy nextGradOutput{gradOutput};
        const auto startStep = [&](int step) {
            const int head = headOfStep(step);
            const int query = queryOfStep(step);
            nextQueries = startTile(nextQueries, p.q, head, query, shape.queries);
            nextGradOutput = startTile(nextGradOutput, p.gradO, head, query, shape.queries);
            loadRows(head, query);
        };
        const auto finishStep = [&] {
            nextQueries.finish();
            nextGradOutput.finish();
        };
        if (steps > 0) {
            startStep(0);
            finishStep();
        }
        for (int step = 0; step < steps; ++step) {
            const int head = headOfStep(step);
            const int query = queryOfStep(step);
            __syncthreads();
            Scores scores = {};
            Scores gradients = {};
            multiplyRows<Precision>(scores, keys, warpKey(), queries, warpQuery());
            multiplyRows<Precision>(gradients, values, warpKey(), gradOutput, warpQuery());
            differentiateSoftmax(scores[0], gradients[0], query);
            if constexpr (kRoundsTiles<Precision>) {
                round(gradients[0]);
            }
            storeAccumulators<Precision>(
                gradients[0], gradScores, warpKey(), [](int) { return 1.0f; }, warpQuery());
            // fp32 sums each step separately: of thousands of queries, the first may have weights near 1, and
            // the others small ones.
            constexpr bool kSeparateSum = kIsFp32<Precision>;
            multiplyAccumulators<Precision, kSeparateSum>(gradValues, scores, gradOutput, firstColumn,
                                                          warpQuery());
            multiplyAccumulators<Precision, kSeparateSum>(gradKeys, gradients, queries, firstColumn,
                                                          warpQuery());
            __syncthreads();
            if (step + 1 < steps) {
                startStep(step + 1);
            }
            addGradQ(head, query);
            if (step + 1 < steps) {
                finishStep();
            }
        }
        __syncthreads();
        writeGradients(gradKeys, gradValues);
    }

private:
    __device__ static int warp() { return threadIdx.x / 32; }
    __device__ static int warpKey() { return warp() / kTile.queryGroups * 16; }
    /// The first of this warp's queries in a tile.
    __device__ static int warpQuery() { return warp() % kTile.queryGroups * kQueryBlocks * 8; }
    __device__ std::int64_t flatRow(int head, int query) const
    {
        return (std::int64_t(batch) * shape.queryHeads + head) * shape.queries + query;
    }

    /// Starts the copy of a head's rows from `row` on.
    template <class Copy>
    __device__ Copy startTile(Copy copy, const ConstView& view, int head, int row, int rowCount) const
    {
        copy.start(headOf<Element>(view, batch, head) + row * view.rowStride, view.rowStride, rowCount - row,
                   shape.headDim);
        return copy;
    }

    __device__ void loadRows(int head, int query) const
    {
        const int count = shape.queries - query;
        for (int i = threadIdx.x; i < kQueries; i += kThreads) {
            const std::int64_t row = flatRow(head, query + i);
            const bool valid = i < count;
            rows.delta[i] = valid ? p.delta[row] : 0;
            if constexpr (Precision::kKeepsStatistics) {
                rows.offset[i] = valid ? p.statistics[row].offset : 0;
                rows.reciprocal[i] = valid ? p.statistics[row].reciprocal : 0;
            } else {
                rows.offset[i] = valid ? p.logSumExp[row] * Precision::kExponentUnit : 0;
            }
        }
    }

    /// Replaces scores by probabilities, and gradients of probabilities by those of scores times the scale.
    __device__ void differentiateSoftmax(float (&scores)[kQueryBlocks][4],
                                         float (&gradients)[kQueryBlocks][4], int query) const
    {
        const int t = lane() % 4;
        const int key = firstKey + warpKey() + lane() / 4;
        const float scale = shape.scale * Precision::kExponentUnit;
        const bool masked = firstKey + kKeys > mask.keysSeenBy(query) || query + kQueries > shape.queries;
#pragma unroll
        for (int n = 0; n < kQueryBlocks; ++n) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = warpQuery() + n * 8 + 2 * t + i;
                const float offset = rows.offset[row];
                const float delta = rows.delta[row];
                const float reciprocal = Precision::kKeepsStatistics ? rows.reciprocal[row] : 1.0f;
                const int seen = mask.keysSeenBy(query + row);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    float& score = scores[n][2 * half + i];
                    float& gradient = gradients[n][2 * half + i];
                    score = Precision::exponential(fmaf(score, scale, -offset));
                    if constexpr (Precision::kKeepsStatistics) {
                        score *= reciprocal;
                    }
                    if (masked && seen == 1) {
                        // A softmax over one key is constant; gradient - delta would be a rounding error.
                        gradient = 0;
                    }
                    gradient = score * (gradient - delta) * shape.scale;
                    if (masked) {
                        const bool sees = key + half * 8 < seen && query + row < shape.queries;
                        score = sees ? score : 0;
                        gradient = sees ? gradient : 0;
                    }
                }
            }
        }
    }

    __device__ static void round(float (&gradients)[kQueryBlocks][4])
    {
#pragma unroll
        for (auto& block : gradients) {
#pragma unroll
            for (float& gradient : block) {
                gradient = Precision::rounded(gradient);
            }
        }
    }

    /// dQ of one tile of queries: += dS K.
    __device__ void addGradQ(int head, int query) const
    {
        waitForSemaphore(head, query);
        const int column = firstColumn + warp() / kRowGroups * kGradQColumns;
        for (int row = warp() % kRowGroups * 16; row < kQueries; row += kRowGroups * 16) {
            float sum[1][kGradQColumns / 8][4] = {};
            multiplyTransposed<Precision, kKeys>(sum, gradScores, row, keys, column);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int at = query + row + half * 8 + lane() / 4;
                const int first = column + 2 * (lane() % 4);
                float* to = p.gradQSum + flatRow(head, at) * shape.headDim + first;
#pragma unroll
                for (int n = 0; n < kGradQColumns / 8; ++n) {
                    if (at < shape.queries && first + n * 8 < shape.headDim) {
                        ptx::addGlobal2(to + n * 8, sum[0][n][2 * half], sum[0][n][2 * half + 1]);
                    }
                }
            }
        }
        signalSemaphore(head, query);
    }

    /// In deterministic mode tiles of keys add in their order, which is also the order in which blocks start.
    __device__ int* semaphoreOf(int head, int query) const
    {
        const int queryTiles = (shape.queries + kQueries - 1) / kQueries;
        const std::int64_t tile =
            (std::int64_t(batch) * shape.queryHeads + head) * queryTiles + query / kQueries;
        return p.semaphores + tile * kTile.outputSplit + firstColumn / kOutput;
    }
    __device__ void waitForSemaphore(int head, int query) const
    {
        if (p.semaphores) {
            if (threadIdx.x == 0) {
                while (ptx::loadAcquire(semaphoreOf(head, query)) != keyTile) {
                    __nanosleep(40);
                }
            }
            __syncthreads();
        }
    }
    __device__ void signalSemaphore(int head, int query) const
    {
        if (p.semaphores) {
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0) {
                ptx::storeRelease(semaphoreOf(head, query), keyTile + 1);
            }
        }
    }

    __device__ void writeGradients(Accumulators& gradKeys, Accumulators& gradValues) const
    {
        // These overwrite the tiles of K and V, which are no longer read.
        const OutputTile stagedKeys{keys.base};
        const OutputTile stagedValues{values.base};
        const auto store = [&] {
            storeAccumulators<Precision>(gradKeys[0], stagedKeys, warpKey(), [](int) { return 1.0f; });
            storeAccumulators<Precision>(gradValues[0], stagedValues, warpKey(), [](int) { return 1.0f; });
        };
        // Warps that share keys add their sums, from the last warp to the first.
        for (int group = kTile.queryGroups - 1; group > 0; --group) {
            if (warp() % kTile.queryGroups == group) {
                store();
            }
            __syncthreads();
            if (warp() % kTile.queryGroups == group - 1) {
                addStaged(gradKeys[0], stagedKeys);
                addStaged(gradValues[0], stagedValues);
            }
            __syncthreads();
        }
        if (warp() % kTile.queryGroups != 0) {
            return;
        }
        store();
        __syncwarp();
        const auto write = [&](OutputTile from, const MutableView& view) {
            const int key = firstKey + warpKey();
            writeRows<32, 16>(OutputTile{from.at(warpKey(), 0)},
                              headOf<Element>(view, batch, keyHead) + key * view.rowStride + firstColumn,
                              view.rowStride, shape.keys - key, shape.headDim - firstColumn, lane());
        };
        write(stagedKeys, p.gradK);
        write(stagedValues, p.gradV);
    }

    /// Adds the fp32 sums that storeAccumulators() wrote.
    __device__ void addStaged(float (&sums)[kOutput / 8][4], OutputTile staged) const
    {
        static_assert(kTile.queryGroups == 1 || sizeof(Element) == sizeof(float));
#pragma unroll
        for (int n = 0; n < kOutput / 8; ++n) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const auto two = *reinterpret_cast<const float2*>(
                    staged.at(warpKey() + lane() / 4 + half * 8, n * 8 + 2 * (lane() % 4)));
                sums[n][2 * half] += two.x;
                sums[n][2 * half + 1] += two.y;
            }
        }
    }
};

template <class Precision, int kHeadDim, TileSize kSize>
__global__ void __launch_bounds__(MmaBackward<Precision, kHeadDim, kSize>::kThreads)
    mmaBackwardKernel(const __grid_constant__ BackwardParameters parameters)
{
    extern __shared__ __align__(128) std::byte shared[];
    MmaBackward<Precision, kHeadDim, kSize>(parameters, shared).run();
}

template <class Precision, int kHeadDim, TileSize kSize>
cudaError_t launchMmaBackwardTile(BackwardParameters parameters, cudaStream_t stream)
{
    using Kernel = MmaBackward<Precision, kHeadDim, kSize>;
    constexpr auto kKernel = mmaBackwardKernel<Precision, kHeadDim, kSize>;
    static_assert(kSize != TileSize::Compact || Kernel::kSharedBytes <= kMinSharedBytes);
    if (const cudaError_t status = allowSharedMemory<kKernel>(Kernel::kSharedBytes); status != cudaSuccess) {
        return status;
    }
    const KernelShape& shape = parameters.shape;
    const std::int64_t bytesPerHead =
        (2LL * sizeof(typename Precision::Element) + sizeof(float)) * shape.queries * shape.headDim;
    parameters.order =
        TileOrder::make((shape.keys + Kernel::kKeys - 1) / Kernel::kKeys,
                        shape.keyHeads * Kernel::kTile.outputSplit, shape.batch, shape.causal, bytesPerHead);
    launchDelta<Precision>(parameters, stream);
    kKernel<<<parameters.order.tiles, Kernel::kThreads, Kernel::kSharedBytes, stream>>>(parameters);
    launchGradQ<typename Precision::Element>(parameters, stream);
    return cudaGetLastError();
}

template <class Precision, int kHeadDim>
cudaError_t launchMmaBackward(const BackwardParameters& parameters, cudaStream_t stream)
{
    // If the usual tile fits on every device, it is the only one.
    using Usual = MmaBackward<Precision, kHeadDim, TileSize::Usual>;
    if constexpr (Usual::kSharedBytes > kMinSharedBytes) {
        constexpr auto tileOf = [](TileSize size) {
            return mmaBackwardTile(kArithmetic<Precision>, kHeadDim, size);
        };
        // One kernel if both tiles are equal.
        constexpr TileSize kFew =
            tileOf(TileSize::Few) == tileOf(TileSize::Compact) ? TileSize::Compact : TileSize::Few;
        const DeviceProperties& device = currentDeviceProperties();
        if (device.sharedMemoryBytes < Usual::kSharedBytes) {
            return launchMmaBackwardTile<Precision, kHeadDim, TileSize::Compact>(parameters, stream);
        }
        // With few keys, where the usual blocks would leave half of the device idle, smaller blocks are used.
        const KernelShape& shape = parameters.shape;
        const std::int64_t blocks =
            std::int64_t{(shape.keys + Usual::kKeys - 1) / Usual::kKeys} * shape.keyHeads * shape.batch;
        if constexpr (tileOf(TileSize::Few) != tileOf(TileSize::Usual)) {
            if (2 * blocks <= device.multiprocessors) {
                return launchMmaBackwardTile<Precision, kHeadDim, kFew>(parameters, stream);
            }
        }
    }
    return launchMmaBackwardTile<Precision, kHeadDim, TileSize::Usual>(parameters, stream);
}

/// The launchers of a precision, by head dim.
template <class Precision> constexpr MmaBackwardLaunchers mmaBackwardLaunchers()
{
    return []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
    {
        return MmaBackwardLaunchers{&launchMmaBackward<Precision, kMmaHeadDims[kIndex]>...};
    }
    (std::make_index_sequence<kMmaHeadDimCount>());
}

} // namespace tilescope::kernels
