#pragma once

#include "kernels/cuda/common/overlap.h"
#include "kernels/cuda/decode/combine.cuh"
#include "kernels/cuda/decode/copies.cuh"
#include "kernels/cuda/mma/fragments.h"

#include <cmath>

namespace tilescope::kernels {

/// Attention of few queries to many keys, as in decoding with a KV cache. Products use mma.sync.
///
/// Bound: memory. Each element of K and V is read once and used for 4 * rows operations, so every multiprocessor must keep
/// loading. An item is a (batch, key head); its rows are the queries of all query heads that share the key head. All CTAs
/// read the same number of key tiles (KeySplit). A multiprocessor runs two CTAs, or one wide CTA. Each has kStages - 1 tiles
/// in flight, together 128 KB on Hopper, where 30 KB hide the latency of memory.
///
/// Shared memory: Q | kStages x (K | V). Loading continues across items, with one barrier per tile:
///
///     wait for tile t; barrier: all warps have read tile t - 1; load tile t + kStages - 1 into its stage; compute tile t
///
/// Each group of 16 rows has a warp; if there are more warps than groups, several share a group and divide the keys of each
/// tile. At the end of an item the warps add their partial sums through the stage that was read last. A CTA that computed
/// only a part of an item writes it to the workspace; the last CTA to finish combines the parts in a fixed order
/// (combine.cuh).
/// \tparam LoadsOf  loads the tiles: DecodeCopies, or a class with the same interface
template <class Precision, int kHeadDim, int kRowGroups, int kStages, DecodeCtas kCtas = DecodeCtas::Two,
          template <class, int, DecodeCtas, int> class LoadsOf = DecodeCopies>
struct DecodeKernel {
    using Element = typename Precision::Element;
    using Loads = LoadsOf<Element, kHeadDim, kCtas, kStages>;
    using QueryTile = SwizzledTile<Element, kHeadDim>;
    using Tile = typename Loads::Tile; ///< of keys or values
    static constexpr int kWarps = decodeWarps(kCtas);
    static constexpr int kThreads = kWarps * 32;
    static constexpr int kRows = kRowGroups * 16;
    static constexpr int kKeyGroups = kWarps / kRowGroups;
    static constexpr int kTileKeys = Loads::kTileKeys;
    static constexpr int kGroupKeys = kTileKeys / kKeyGroups; ///< keys of a tile per warp
    static constexpr int kKeyBlocks = kGroupKeys / 8;
    static constexpr int kOutputBlocks = kHeadDim / 8;
    static constexpr int kTileBytes = kTileKeys * kHeadDim * 2;
    static constexpr int kStageBytes = 2 * kTileBytes;
    static constexpr int kStagesOffset = QueryTile::bytes(kRows);
    static constexpr int kBarriersOffset = kStagesOffset + kStages * kStageBytes;
    static constexpr int kFlagOffset = kBarriersOffset + Loads::kBarrierBytes; ///< see isLastPart()
    static constexpr int kSharedBytes = kFlagOffset + 16;

    using Scores = float[1][kKeyBlocks][4];
    using Output = float[1][kOutputBlocks][4];

    /// For a lane's rows g and g + 8: the offset subtracted from exponents (-infinity if a row has seen no
    /// key), and the sum of this lane's exponentials.
    struct Rows {
        float offset[2] = {-INFINITY, -INFINITY};
        float sum[2] = {0, 0};
    };

    const DecodeParameters& p;
    const typename Loads::Source& source;
    std::byte* shared;
    const int warpRow = threadIdx.x / 32 % kRowGroups * 16;
    const int keyGroup = threadIdx.x / 32 / kRowGroups;
    const int rows = p.shape.queries * p.shape.group(); ///< of an item; the others are computed from zeros

    __device__ void run()
    {
        ptx::waitForKernelBefore();
        ptx::letNextKernelBegin();
        const std::int64_t begin = p.split.first(static_cast<int>(blockIdx.x));
        const auto count = static_cast<int>(p.split.first(static_cast<int>(blockIdx.x) + 1) - begin);
        DecodePosition at{static_cast<int>(begin / p.split.tilesPerItem),
                          static_cast<int>(begin % p.split.tilesPerItem)};
        Loads loads(p, source, shared + kStagesOffset, shared + kBarriersOffset, at, count);
        if (!loads.begin()) {
            return;
        }
        Output output;
        Rows state;
        int firstTile = 0; // of the item, in this CTA
        int stage = 0;
#pragma unroll 1
        for (int i = 0; i < count; ++i) {
            const bool begins = i == 0 || at.tile == 0;
            if (begins) {
                firstTile = at.tile;
                copyQueries(at.item / p.shape.keyHeads, at.item % p.shape.keyHeads);
                clear(output, state);
            }
            loads.next(stage, begins);
            compute(output, state, stage, at.tile * kTileKeys);
            const bool ends = i + 1 == count || at.tile + 1 == p.split.tilesPerItem;
            if (ends) {
                Loads::barrier(); // this stage and Q are no longer read
                sumOverLanes(state);
                if constexpr (kKeyGroups > 1) {
                    mergeGroups(output, state, reinterpret_cast<float4*>(keys(stage).base));
                }
                finish(at, firstTile, output, state);
            }
            loads.release(stage, ends);
            at.advance(p.split.tilesPerItem);
            stage = stage + 1 == kStages ? 0 : stage + 1;
        }
    }

private:
    __device__ QueryTile queries() const
    {
        return {shared};
    }
    __device__ Tile keys(int stage) const
    {
        return {shared + kStagesOffset + stage * kStageBytes};
    }
    __device__ Tile values(int stage) const
    {
        return {shared + kStagesOffset + stage * kStageBytes + kTileBytes};
    }

    __device__ static void clear(Output& output, Rows& state)
    {
        state = {};
#pragma unroll
        for (int i = 0; i < kOutputBlocks * 4; ++i) {
            output[0][i / 4][i % 4] = 0;
        }
    }

    __device__ void compute(Output& output, Rows& state, int stage, int firstKey) const
    {
        Scores scores = {};
        const int warpKey = keyGroup * kGroupKeys;
        multiplyRows<Precision>(scores, queries(), warpRow, keys(stage), warpKey);
        if (firstKey + kTileKeys > p.shape.mask().keysSeenBy(0)) {
            hide(scores, firstKey + warpKey);
        }
        softmax(scores, output, state);
        multiplyAccumulators<Precision>(output, scores, values(stage), 0, warpKey);
    }

    /// Row r of an item is query r % queries of its head r / queries. Loads of keys and values in flight hide the
    /// latency of these.
    __device__ void copyQueries(int batch, int keyHead) const
    {
        constexpr int kChunksPerRow = QueryTile::kColumns / QueryTile::kChunk;
        const QueryTile to = queries();
#pragma unroll
        for (int i = threadIdx.x; i < kRows * kChunksPerRow; i += kThreads) {
            const int row = i / kChunksPerRow;
            const int column = i % kChunksPerRow * QueryTile::kChunk;
            uint4 chunk = make_uint4(0, 0, 0, 0);
            if (row < rows && column < p.shape.headDim) {
                const int head = keyHead * p.shape.group() + row / p.shape.queries;
                chunk = *reinterpret_cast<const uint4*>(headOf<Element>(p.q, batch, head) +
                                                        row % p.shape.queries * p.q.rowStride + column);
            }
            *reinterpret_cast<uint4*>(to.at(row, column)) = chunk;
        }
    }

    /// Scores that the mask hides become -infinity.
    /// \param key  of the first column
    __device__ void hide(Scores& scores, int key) const
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = warpRow + half * 8 + lane() / 4;
            const int seen = p.shape.mask().keysSeenBy(row % p.shape.queries) - key;
#pragma unroll
            for (int n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    float& score = scores[0][n][2 * half + i];
                    score = n * 8 + 2 * (lane() % 4) + i < seen ? score : -INFINITY;
                }
            }
        }
    }

    /// Replaces scores by exponentials with the new largest score, and rescales the sums made with the old one.
    __device__ void softmax(Scores& scores, Output& output, Rows& state) const
    {
        const float scale = p.shape.scale * Precision::kExponentUnit;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float maximum = -INFINITY;
#pragma unroll
            for (int n = 0; n < kKeyBlocks; ++n) {
                maximum = fmaxf(maximum, fmaxf(scores[0][n][2 * half], scores[0][n][2 * half + 1]));
            }
            // Over the four lanes of a row.
            maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 1));
            maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, 2));
            const float offset = fmaxf(state.offset[half], maximum * scale);
            // -infinity - (-infinity) would be NaN.
            const float subtracted = offset == -INFINITY ? 0.0f : offset;
            const float factor = Precision::exponential(state.offset[half] - subtracted);
            state.offset[half] = offset;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < kKeyBlocks; ++n) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    float& score = scores[0][n][2 * half + i];
                    score = Precision::exponential(fmaf(score, scale, -subtracted));
                    sum += score;
                }
            }
            state.sum[half] = state.sum[half] * factor + sum;
#pragma unroll
            for (int n = 0; n < kOutputBlocks; ++n) {
                output[0][n][2 * half] *= factor;
                output[0][n][2 * half + 1] *= factor;
            }
        }
    }

    __device__ static void sumOverLanes(Rows& state)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            state.sum[half] += __shfl_xor_sync(~0u, state.sum[half], 1);
            state.sum[half] += __shfl_xor_sync(~0u, state.sum[half], 2);
        }
    }

    /// Adds the sums of the key groups to those of the first.
    __device__ void mergeGroups(Output& output, Rows& state, float4* scratch) const
    {
        constexpr int kVectors = kOutputBlocks + 1; // per lane: output; offsets and sums
        static_assert((kKeyGroups - 1) * kRowGroups * kVectors * 32 * 16 <= kStageBytes);
        const auto at = [&](int group, int vector) -> float4& {
            return scratch[(((group - 1) * kRowGroups + warpRow / 16) * kVectors + vector) * 32 + lane()];
        };
        if (keyGroup > 0) {
#pragma unroll
            for (int n = 0; n < kOutputBlocks; ++n) {
                at(keyGroup, n) =
                    make_float4(output[0][n][0], output[0][n][1], output[0][n][2], output[0][n][3]);
            }
            at(keyGroup, kVectors - 1) =
                make_float4(state.offset[0], state.offset[1], state.sum[0], state.sum[1]);
        }
        Loads::barrier();
        if (keyGroup > 0) {
            return;
        }
#pragma unroll 1
        for (int group = 1; group < kKeyGroups; ++group) {
            const float4 theirs = at(group, kVectors - 1);
            const float offsets[2] = {theirs.x, theirs.y};
            const float sums[2] = {theirs.z, theirs.w};
            float mine[2];
            float factor[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float offset = fmaxf(state.offset[half], offsets[half]);
                const float common = offset == -INFINITY ? 0.0f : offset;
                mine[half] = Precision::exponential(state.offset[half] - common);
                factor[half] = Precision::exponential(offsets[half] - common);
                state.offset[half] = offset;
                state.sum[half] = state.sum[half] * mine[half] + sums[half] * factor[half];
            }
#pragma unroll
            for (int n = 0; n < kOutputBlocks; ++n) {
                const float4 add = at(group, n);
                output[0][n][0] = output[0][n][0] * mine[0] + add.x * factor[0];
                output[0][n][1] = output[0][n][1] * mine[0] + add.y * factor[0];
                output[0][n][2] = output[0][n][2] * mine[1] + add.z * factor[1];
                output[0][n][3] = output[0][n][3] * mine[1] + add.w * factor[1];
            }
        }
    }

    /// Writes the rows of a whole item, or the part of one; combines the parts if this was the last one.
    __device__ void finish(const DecodePosition& at, int firstTile, const Output& output,
                           const Rows& state) const
    {
        const DecodeOutput<Precision, kHeadDim> target{p, at.item / p.shape.keyHeads,
                                                       at.item % p.shape.keyHeads, rows};
        const bool writes = keyGroup == 0;
        if (at.tile + 1 - firstTile == p.split.tilesPerItem) {
            if (writes) {
                forEachRow([&](int side, int row) {
                    const float factor = DecodeOutput<Precision, kHeadDim>::reciprocal(state.sum[side]);
                    if (lane() % 4 == 0) {
                        target.writeLogSumExp(row, state.offset[side], state.sum[side]);
                    }
#pragma unroll
                    for (int n = 0; n < kOutputBlocks; ++n) {
                        target.writeTwo(row, n * 8 + lane() % 4 * 2, output[0][n][2 * side] * factor,
                                        output[0][n][2 * side + 1] * factor);
                    }
                });
            }
            return;
        }
        const int cta = static_cast<int>(blockIdx.x);
        const DecodePart<kHeadDim> part{p.workspace, rows, KeySplit::part(cta, firstTile == 0)};
        if (writes) {
            forEachRow([&](int side, int row) {
                if (lane() % 4 == 0) {
                    part.statistics(row) = make_float2(state.offset[side], state.sum[side]);
                }
#pragma unroll
                for (int n = 0; n < kOutputBlocks; ++n) {
                    *reinterpret_cast<float2*>(part.row(row) + n * 8 + lane() % 4 * 2) =
                        make_float2(output[0][n][2 * side], output[0][n][2 * side + 1]);
                }
            });
        }
        const int first = p.split.firstCtaOf(at.item);
        const int parts = p.split.lastCtaOf(at.item) - first + 1;
        if (isLastPart(p.finishedParts[first], parts, *reinterpret_cast<bool*>(shared + kFlagOffset),
                       [] { Loads::barrier(); })) {
            for (int row = threadIdx.x / 32; row < rows; row += kWarps) {
                combineRow<Precision, kHeadDim>(target, p.workspace, first, parts, row);
            }
        }
    }

    template <class Body> __device__ void forEachRow(const Body& body) const
    {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            const int row = warpRow + side * 8 + lane() / 4;
            if (row < rows) {
                body(side, row);
            }
        }
    }
};

} // namespace tilescope::kernels
