#pragma once

#include "kernels/cpu/packed_tiles.h"

namespace tilescope::kernels::TILESCOPE_ISA {

/// Layout of the packed keys and values of all heads in the workspace. They are packed once and read by every
/// tile of queries: for each tile of keys, K and then V^T as left factors, padded to 32 keys and 32 columns.
/// An element takes PartsOf<T>::kCount 16-bit numbers.
template <class T> class PackedKeys {
public:
    PackedKeys(void* memory, const AttentionShape& shape)
        : blocks_(static_cast<Block*>(memory)), keys_(roundUp(shape.keys, kBlockDepth)),
          heads_(shape.keyHeads), depth_(paddedDepth(shape.headDim))
    {
    }
    static std::size_t bytes(const AttentionShape& shape)
    {
        const PackedKeys packed(nullptr, shape);
        return static_cast<std::size_t>(shape.batch * packed.heads_ * packed.blocksOf(packed.keys_)) *
               sizeof(Block);
    }
    PackedMatrix<T> keys(std::int64_t batch, std::int64_t head, std::int64_t firstKey) const
    {
        return {tile(batch, head, firstKey), depth_ / kBlockDepth};
    }
    PackedMatrix<T> valuesT(std::int64_t batch, std::int64_t head, std::int64_t firstKey) const
    {
        // The last tile may be shorter.
        const std::int64_t rows = smaller(kPackedKeyTile, keys_ - firstKey);
        return {tile(batch, head, firstKey) + blocksOf(rows) / 2, rows / kBlockDepth};
    }

private:
    /// Total of K and V.
    std::int64_t blocksOf(std::int64_t keys) const { return 2 * packedBlocks<T>(keys, depth_); }
    Block* tile(std::int64_t batch, std::int64_t head, std::int64_t firstKey) const
    {
        return blocks_ + (batch * heads_ + head) * blocksOf(keys_) + blocksOf(firstKey);
    }

    Block* blocks_;
    std::int64_t keys_, heads_, depth_;
};

/// One tile of queries with every key that it sees, by products of bf16 pairs.
///
/// Like ForwardTile, but all matrices are transposed, so that queries fill the vectors: scores^T = K Q^T,
/// output^T = V^T P^T. The exponentials of two rows of scores^T are a row of pairs of P^T as a right factor.
/// The running maximum and sum need no operations across lanes, and rescaling the output is a product of
/// vectors.
///
/// Bound: 16 scores take headDim / 16 clocks of tile products (bf16 on AMX) and about 8 of softmax (16
/// instructions on two vector ports). At head dim 128 both take the same time.
template <class T> class PackedForward {
public:
    PackedForward(const AttentionProblem& problem, const ForwardTensors& tensors, std::byte* memory)
        : problem_(problem), tensors_(tensors),
          packedKeys_(tensors.workspace, problem.shape), mask_{problem.shape.queries, problem.shape.keys,
                                                               problem.causal},
          scale_(powerScale(problem)), depth_(paddedDepth(problem.shape.headDim)), pieces_(memory, depth_)
    {
    }

    static std::size_t scratchBytes(std::int64_t headDim)
    {
        return Pieces(nullptr, paddedDepth(headDim)).bytes;
    }

    /// Packs one tile of keys and values, for all tiles of queries.
    static void pack(const AttentionProblem& problem, const ForwardTensors& tensors, std::int64_t batch,
                     std::int64_t keyHead, std::int64_t firstKey)
    {
        const AttentionShape& shape = problem.shape;
        const PackedKeys<T> packed(tensors.workspace, shape);
        const auto rowsOf = [&](const ConstView& view) {
            return SourceRows<T>{headOf<T>(view, batch, keyHead) + firstKey * view.rowStride, view.rowStride,
                                 smaller(kPackedKeyTile, shape.keys - firstKey), shape.headDim};
        };
        packRows(rowsOf(tensors.k), Packing::AsIs, packed.keys(batch, keyHead, firstKey));
        packPairs(rowsOf(tensors.v), Packing::Transposed, packed.valuesT(batch, keyHead, firstKey));
    }

    void run(std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
    {
        const TileRegisters registers;
        const AttentionShape& shape = problem_.shape;
        const std::int64_t keyHead = head / (shape.queryHeads / shape.keyHeads);
        const std::int64_t rows = smaller(kPackedQueryTile, shape.queries - firstQuery);
        const std::int64_t groups = roundUp(rows, kGroup) / kGroup;
        packRows(SourceRows<T>{headOf<T>(tensors_.q, batch, head) + firstQuery * tensors_.q.rowStride,
                               tensors_.q.rowStride, rows, shape.headDim},
                 Packing::Transposed, pieces_.queriesT);
        for (std::int64_t g = 0; g < groups; ++g) {
            start(state_[g]);
        }
        const std::int64_t keysSeen = mask_.keysSeenBy(firstQuery + rows - 1);
        for (std::int64_t key = 0; key < keysSeen; key += kPackedKeyTile) {
            const PackedMatrix<T> keys = packedKeys_.keys(batch, keyHead, key);
            const PackedMatrix<T> valuesT = packedKeys_.valuesT(batch, keyHead, key);
            for (std::int64_t g = 0; g < groups; ++g) {
                keyTile(g, firstQuery + g * kGroup, key, keys, valuesT);
            }
        }
        for (std::int64_t g = 0; g < groups; ++g) {
            write(batch, head, g, firstQuery + g * kGroup);
        }
    }

private:
    /// For each query of a group: the largest score so far, and the sum of its exponentials.
    struct State {
        __m512 maximum[kHalves], sum[kHalves];
        bool sawKeys;
    };

    struct Pieces {
        Pieces(std::byte* memory, std::int64_t depth)
        {
            PackedScratch scratch{memory};
            queriesT = scratch.packed<T>(kPackedQueryTile, depth);
            scores = scratch.matrix(kPackedKeyTile, kGroup);
            probabilities = scratch.packed<T>(kGroup, kPackedKeyTile);
            outputT = scratch.matrix(kGroups * depth, kGroup);
            bytes = scratch.bytes;
        }
        PackedMatrix<T> queriesT, probabilities;
        Matrix<float> scores, outputT;
        std::size_t bytes;
    };

    static void start(State& state)
    {
        for (int half = 0; half < kHalves; ++half) {
            state.maximum[half] = _mm512_set1_ps(-__builtin_inff());
            state.sum[half] = _mm512_setzero_ps();
        }
        state.sawKeys = false;
    }

    std::int64_t lastOfGroup(std::int64_t firstQuery) const
    {
        return smaller(firstQuery + kGroup, problem_.shape.queries) - 1;
    }
    Matrix<float> outputT(std::int64_t group) const
    {
        return {pieces_.outputT.row(group * depth_), pieces_.outputT.stride};
    }

    void keyTile(std::int64_t group, std::int64_t firstQuery, std::int64_t firstKey, PackedMatrix<T> keys,
                 PackedMatrix<T> valuesT)
    {
        const std::int64_t count = smaller(kPackedKeyTile, problem_.shape.keys - firstKey);
        const std::int64_t rows = rowsSeen(mask_, lastOfGroup(firstQuery), firstKey, count);
        if (rows <= 0) {
            return;
        }
        State& state = state_[group];
        const PackedMatrix<T> queriesT{pieces_.queriesT.at(group * kHalves, 0), depth_ / kBlockDepth};
        blockProduct(keys, queriesT, pieces_.scores, rows, kGroup, 0, depth_ / kBlockDepth,
                     Result::Overwrite);
        maskScores(mask_, firstQuery, firstKey, count, rows, pieces_.scores);
        for (int half = 0; half < kHalves; ++half) {
            softmax(state, half, rows, outputT(group));
        }
        blockProduct(valuesT, pieces_.probabilities, outputT(group), depth_, kGroup, 0, rows / kBlockDepth,
                     state.sawKeys ? Result::Accumulate : Result::Overwrite);
        state.sawKeys = true;
    }

    /// Replaces scores by exp(scale * (score - maximum)) and rescales the sums made with the old maximum.
    void softmax(State& state, int half, std::int64_t rows, Matrix<float> output)
    {
        const float* const column = pieces_.scores.data + half * 16;
        const __m512 maximum = _mm512_max_ps(largest(column, rows), state.maximum[half]);
        const __m512 base = baseOf(maximum);
        // Exactly 1 if the maximum does not change.
        const __m512 factor = exponential2<T>((state.maximum[half] - base) * scale_);
        const __m512 sum = exponentiate(column, half, rows, base);
        state.sum[half] = state.sum[half] * factor + sum;
        state.maximum[half] = maximum;
        if (state.sawKeys && _mm512_cmp_ps_mask(factor, _mm512_set1_ps(1), _CMP_NEQ_UQ) != 0) {
            for (std::int64_t c = 0; c < depth_; ++c) {
                float* const at = output.row(c) + half * 16;
                _mm512_store_ps(at, _mm512_load_ps(at) * factor);
            }
        }
    }

    /// The largest scores of 16 columns, with several independent maxima.
    static __m512 largest(const float* column, std::int64_t rows)
    {
        constexpr int kPartial = 8;
        __m512 partial[kPartial];
        for (int s = 0; s < kPartial; ++s) {
            partial[s] = _mm512_load_ps(column + s * kGroup);
        }
        for (std::int64_t j = kPartial; j < rows; j += kPartial) {
            for (int s = 0; s < kPartial; ++s) {
                partial[s] = _mm512_max_ps(_mm512_load_ps(column + (j + s) * kGroup), partial[s]);
            }
        }
        for (int count = kPartial / 2; count > 0; count /= 2) {
            for (int s = 0; s < count; ++s) {
                partial[s] = _mm512_max_ps(partial[s], partial[s + count]);
            }
        }
        return partial[0];
    }

    /// Writes the exponentials of 16 columns as pairs of a right factor; returns their sum.
    __m512 exponentiate(const float* column, int half, std::int64_t rows, __m512 base)
    {
        constexpr int kPartial = 4; // pairs at a time, whose exponentials are independent
        __m512 partial[2 * kPartial] = {};
        const __m512 scale = _mm512_set1_ps(scale_);
        for (std::int64_t j = 0; j < rows; j += 2 * kPartial) {
            Block* const to = pieces_.probabilities.at(half, j / kBlockDepth);
            for (int s = 0; s < kPartial; ++s) {
                const float* const at = column + (j + 2 * s) * kGroup;
                const __m512 even = exponential2<T>((_mm512_load_ps(at) - base) * scale);
                const __m512 odd = exponential2<T>((_mm512_load_ps(at + kGroup) - base) * scale);
                partial[2 * s] += even;
                partial[2 * s + 1] += odd;
                __m512i parts[PartsOf<T>::kCount];
                split<T, Order::InPairs>(even, odd, parts);
                for (int part = 0; part < PartsOf<T>::kCount; ++part) {
                    _mm512_store_si512(to[part].pairs[j % kBlockDepth / 2 + s], parts[part]);
                }
            }
        }
        for (int count = kPartial; count > 0; count /= 2) {
            for (int s = 0; s < count; ++s) {
                partial[s] += partial[s + count];
            }
        }
        return partial[0];
    }

    void write(std::int64_t batch, std::int64_t head, std::int64_t group, std::int64_t firstQuery)
    {
        const AttentionShape& shape = problem_.shape;
        const State& state = state_[group];
        const std::int64_t rows = smaller(kGroup, shape.queries - firstQuery);
        const std::int64_t flat = (batch * shape.queryHeads + head) * shape.queries + firstQuery;
        auto* const logSumExp = static_cast<float*>(tensors_.logSumExp) + flat;
        auto* const statistics = static_cast<RowStatistics<float>*>(tensors_.statistics);
        alignas(64) float base[kGroup], sum[kGroup], reciprocal[kGroup];
        for (int half = 0; half < kHalves; ++half) {
            _mm512_store_ps(base + half * 16, baseOf(state.maximum[half]));
            _mm512_store_ps(sum + half * 16, state.sum[half]);
        }
        for (std::int64_t i = 0; i < kGroup; ++i) {
            reciprocal[i] = sum[i] == 0 ? 0 : 1 / sum[i];
        }
        for (std::int64_t i = 0; i < rows; ++i) {
            logSumExp[i] = sum[i] == 0 ? -__builtin_inff()
                                       : base[i] * static_cast<float>(problem_.scale) + logarithm(sum[i]);
            if (statistics) {
                statistics[flat + i] = {base[i], reciprocal[i]};
            }
        }
        if (!state.sawKeys) {
            for (std::int64_t i = 0; i < depth_ * kGroup; ++i) {
                outputT(group).data[i] = 0;
            }
        }
        const __m512 factor[kHalves] = {_mm512_load_ps(reciprocal), _mm512_load_ps(reciprocal + 16)};
        storeTransposed(outputT(group), factor, rows, std::int64_t{shape.headDim},
                        headOf<T>(tensors_.o, batch, head) + firstQuery * tensors_.o.rowStride,
                        tensors_.o.rowStride);
    }

    const AttentionProblem& problem_;
    const ForwardTensors& tensors_;
    PackedKeys<T> packedKeys_;
    MaskPolicy<std::int64_t> mask_;
    float scale_; ///< for powers of two
    std::int64_t depth_;
    Pieces pieces_;
    State state_[kGroups];
};

} // namespace tilescope::kernels::TILESCOPE_ISA
