#pragma once

#include "kernels/cpu/packed_tiles.h"

namespace tilescope::kernels::TILESCOPE_ISA {

/// Layout of the sums of q's gradient: transposed (head dim x 32 queries) for each group of queries, as the
/// products write it. Each part of the keys has a copy; they are added in order at the end.
class PackedGradQ {
public:
    PackedGradQ(void* memory, const AttentionShape& shape)
        : sums_(static_cast<float*>(memory)), groupsPerHead_(roundUp(shape.queries, kGroup) / kGroup),
          groups_(shape.batch * shape.queryHeads * groupsPerHead_), queryHeads_(shape.queryHeads),
          depth_(paddedDepth(shape.headDim))
    {
    }
    static std::size_t bytes(const AttentionShape& shape, std::int64_t parts)
    {
        const PackedGradQ sums(nullptr, shape);
        return static_cast<std::size_t>(parts * sums.groups_ * sums.depth_ * kGroup) * sizeof(float);
    }
    Matrix<float> of(std::int64_t part, std::int64_t batch, std::int64_t head, std::int64_t query) const
    {
        const std::int64_t group = (batch * queryHeads_ + head) * groupsPerHead_ + query / kGroup;
        return {sums_ + (part * groups_ + group) * depth_ * kGroup, kGroup};
    }
    /// Number of sums per head.
    std::int64_t perHead() const { return groupsPerHead_ * depth_ * kGroup; }

private:
    float* sums_;
    std::int64_t groupsPerHead_, groups_, queryHeads_, depth_;
};

/// The keys of one part of one (batch, key head), with every query that sees them, by products of bf16 pairs.
///
/// Keys form panels. A panel's packed keys and gradients stay in the L2 cache during the iteration over the
/// queries, so that a tile of queries is packed once per panel. Scores are transposed, as in PackedForward:
///
///     S^T = K Q^T     dP^T = V dO^T     dV += P^T dO     dK += dS^T Q     dQ^T += K^T dS
///
/// Queries fill the vectors. Two vectors of a row of P^T are a row of a left factor; two rows are a row of a
/// right one.
template <class T> class PackedBackward {
    static constexpr bool kExact = __is_same(T, float); ///< keepsRowStatistics()

public:
    PackedBackward(const AttentionProblem& problem, const BackwardTensors& tensors, std::byte* memory)
        : problem_(problem), tensors_(tensors),
          gradQ_(tensors.workspace, problem.shape), mask_{problem.shape.queries, problem.shape.keys,
                                                          problem.causal},
          scale_(powerScale(problem)), depth_(paddedDepth(problem.shape.headDim)), pieces_(memory, depth_)
    {
    }

    static std::size_t scratchBytes(std::int64_t headDim)
    {
        return Pieces(nullptr, paddedDepth(headDim)).bytes;
    }

    void run(std::int64_t batch, std::int64_t keyHead, std::int64_t part, std::int64_t parts)
    {
        const TileRegisters registers;
        const AttentionShape& shape = problem_.shape;
        batch_ = batch;
        keyHead_ = keyHead;
        part_ = part;
        const std::int64_t group = shape.queryHeads / shape.keyHeads;
        clear({gradQ_.of(part, batch, keyHead * group, 0).data, gradQ_.perHead()}, group);
        // Several parts take small panels alternately, because under a causal mask more queries see early
        // keys.
        const std::int64_t share = roundUp(shape.keys / (2 * parts) + 1, kPackedKeyTile);
        const std::int64_t panel = parts == 1 ? panelKeys(depth_) : smaller(share, panelKeys(depth_));
        for (std::int64_t key = part * panel; key < shape.keys; key += parts * panel) {
            keyPanel(key, smaller(panel, shape.keys - key));
        }
    }

private:
    /// Three copies in 16-bit parts and two fp32 gradients of 64 K numbers in one part are 900 KB, of 32 K in
    /// three parts 850 KB.
    static std::int64_t panelKeys(std::int64_t depth)
    {
        const std::int64_t numbers = std::int64_t{1} << (PartsOf<T>::kCount == 1 ? 16 : 15);
        const std::int64_t keys = numbers / depth / kPackedKeyTile * kPackedKeyTile;
        return keys < kPackedKeyTile ? kPackedKeyTile : keys;
    }

    struct Pieces {
        Pieces(std::byte* memory, std::int64_t depth)
        {
            PackedScratch scratch{memory};
            const std::int64_t panel = panelKeys(depth);
            keys = scratch.packed<T>(panel, depth);
            values = scratch.packed<T>(panel, depth);
            keysT = scratch.packed<T>(panel, depth);
            gradKeys = scratch.matrix(panel, depth);
            gradValues = scratch.matrix(panel, depth);
            queriesT = scratch.packed<T>(kPackedQueryTile, depth);
            gradOutputT = scratch.packed<T>(kPackedQueryTile, depth);
            queries = scratch.packed<T>(depth, kPackedQueryTile);
            gradOutput = scratch.packed<T>(depth, kPackedQueryTile);
            gradQT = scratch.matrix(kGroups * depth, kGroup);
            scores = scratch.matrix(kPackedKeyTile, kGroup);
            gradScores = scratch.matrix(kPackedKeyTile, kGroup);
            probabilitiesT = scratch.packed<T>(kPackedKeyTile, kPackedQueryTile);
            differencesT = scratch.packed<T>(kPackedKeyTile, kPackedQueryTile);
            differences = scratch.packed<T>(kGroup, kPackedKeyTile);
            offset = scratch.take<float>(kPackedQueryTile);
            reciprocal = scratch.take<float>(kPackedQueryTile);
            delta = scratch.take<float>(kPackedQueryTile);
            gradLogSumExp = scratch.take<float>(kPackedQueryTile);
            bytes = scratch.bytes;
        }
        PackedMatrix<T> keys, values, keysT;                        ///< of a panel
        PackedMatrix<T> queriesT, gradOutputT, queries, gradOutput; ///< of a tile of queries
        PackedMatrix<T> probabilitiesT, differencesT;               ///< of both tiles; left factors
        PackedMatrix<T> differences;                                ///< of a group of queries; right factor
        Matrix<float> gradKeys, gradValues, gradQT, scores, gradScores;
        float *offset, *reciprocal, *delta, *gradLogSumExp; ///< of a tile of queries
        std::size_t bytes;
    };

    struct Numbers {
        float* data;
        std::int64_t count;
    };
    static void clear(Numbers numbers, std::int64_t times)
    {
        for (std::int64_t i = 0; i < times * numbers.count; ++i) {
            numbers.data[i] = 0;
        }
    }
    static Matrix<float> from(Matrix<float> matrix, std::int64_t row)
    {
        return {matrix.row(row), matrix.stride};
    }
    static PackedMatrix<T> from(PackedMatrix<T> matrix, std::int64_t row)
    {
        return {matrix.at(row / kBlockRows, 0), matrix.depthBlocks};
    }
    /// K^T of a tile of the panel: tiles one after the other, each head dim x tile.
    PackedMatrix<T> keysT(std::int64_t tile) const
    {
        return {pieces_.keysT.blocks + packedBlocks<T>(tile, depth_), kKeyBlocks};
    }

    template <class View>
    SourceRows<T> rowsOf(const View& view, std::int64_t head, std::int64_t first, std::int64_t rows) const
    {
        return {headOf<T>(view, batch_, head) + first * view.rowStride, view.rowStride, rows,
                std::int64_t{problem_.shape.headDim}};
    }

    void keyPanel(std::int64_t firstKey, std::int64_t keys)
    {
        const AttentionShape& shape = problem_.shape;
        packRows(rowsOf(tensors_.k, keyHead_, firstKey, keys), Packing::AsIs, pieces_.keys);
        packRows(rowsOf(tensors_.v, keyHead_, firstKey, keys), Packing::AsIs, pieces_.values);
        for (std::int64_t tile = 0; tile < keys; tile += kPackedKeyTile) {
            packPairs(rowsOf(tensors_.k, keyHead_, firstKey + tile, smaller(kPackedKeyTile, keys - tile)),
                      Packing::Transposed, keysT(tile));
        }
        clear({pieces_.gradKeys.data, roundUp(keys, kBlockDepth)}, depth_);
        clear({pieces_.gradValues.data, roundUp(keys, kBlockDepth)}, depth_);
        const std::int64_t group = shape.queryHeads / shape.keyHeads;
        for (std::int64_t head = keyHead_ * group; head < (keyHead_ + 1) * group; ++head) {
            const std::int64_t first = mask_.firstQueryOf(firstKey) / kPackedQueryTile * kPackedQueryTile;
            for (std::int64_t query = first; query < shape.queries; query += kPackedQueryTile) {
                queryTile(head, query, firstKey, keys);
            }
        }
        writeRows(tensors_.gradK, firstKey, keys, pieces_.gradKeys, static_cast<float>(problem_.scale));
        writeRows(tensors_.gradV, firstKey, keys, pieces_.gradValues, 1);
    }

    void queryTile(std::int64_t head, std::int64_t query, std::int64_t firstKey, std::int64_t keys)
    {
        const std::int64_t rows = smaller(kPackedQueryTile, problem_.shape.queries - query);
        loadQueries(head, query, rows);
        firstQuery_ = query;
        groups_ = roundUp(rows, kGroup) / kGroup;
        clear({pieces_.gradQT.data, groups_ * kGroup}, depth_);
        const std::int64_t keysSeen = mask_.keysSeenBy(query + rows - 1) - firstKey;
        for (std::int64_t tile = 0; tile < keys && tile < keysSeen; tile += kPackedKeyTile) {
            keyTile(tile, firstKey + tile, smaller(kPackedKeyTile, keys - tile));
        }
        for (std::int64_t g = 0; g < groups_; ++g) {
            float* const sum = gradQ_.of(part_, batch_, head, query + g * kGroup).data;
            const float* const more = pieces_.gradQT.row(g * depth_);
            for (std::int64_t i = 0; i < depth_ * kGroup; ++i) {
                sum[i] += more[i];
            }
        }
    }

    void loadQueries(std::int64_t head, std::int64_t query, std::int64_t rows)
    {
        const SourceRows<T> queries = rowsOf(tensors_.q, head, query, rows);
        const SourceRows<T> gradOutput = rowsOf(tensors_.gradO, head, query, rows);
        const SourceRows<T> output = rowsOf(tensors_.o, head, query, rows);
        packRows(queries, Packing::Transposed, pieces_.queriesT);
        packPairs(queries, Packing::AsIs, pieces_.queries);
        packRows(gradOutput, Packing::Transposed, pieces_.gradOutputT);
        packPairs(gradOutput, Packing::AsIs, pieces_.gradOutput);
        const std::int64_t flat =
            (batch_ * problem_.shape.queryHeads + head) * problem_.shape.queries + query;
        for (std::int64_t i = 0; i < kPackedQueryTile; ++i) {
            const RowStatistics<float> row =
                i < rows ? statisticsOf(flat + i) : RowStatistics<float>{__builtin_inff(), 0};
            pieces_.offset[i] = row.offset;
            pieces_.reciprocal[i] = row.reciprocal;
            pieces_.gradLogSumExp[i] = i < rows ? gradLogSumExpOf<float>(tensors_, flat + i) : 0;
            pieces_.delta[i] = i < rows ? dot(output, gradOutput, i) - pieces_.gradLogSumExp[i] : 0;
        }
    }

    /// If forward kept no statistics, the log-sum-exp in powers of two. Rows without keys have probabilities
    /// 0.
    RowStatistics<float> statisticsOf(std::int64_t flat) const
    {
        if (kExact) {
            return static_cast<const RowStatistics<float>*>(tensors_.statistics)[flat];
        }
        const float logSumExp = static_cast<const float*>(tensors_.logSumExp)[flat];
        return {logSumExp == -__builtin_inff() ? __builtin_inff() : logSumExp * 1.44269504f, 1};
    }

    /// In double, because delta is subtracted from numbers of similar size.
    static float dot(const SourceRows<T>& a, const SourceRows<T>& b, std::int64_t row)
    {
        __m512d sum = _mm512_setzero_pd();
        for (std::int64_t c = 0; c < a.columns; c += 16) {
            const __m512 x = load16(a.data + row * a.stride + c, a.columns - c);
            const __m512 y = load16(b.data + row * b.stride + c, a.columns - c);
            sum += _mm512_cvtps_pd(_mm512_castps512_ps256(x)) * _mm512_cvtps_pd(_mm512_castps512_ps256(y));
            sum +=
                _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)) * _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1));
        }
        return static_cast<float>(_mm512_reduce_add_pd(sum));
    }

    void keyTile(std::int64_t tile, std::int64_t firstKey, std::int64_t count)
    {
        const std::int64_t depthBlocks = depth_ / kBlockDepth;
        const PackedMatrix<T> keys = from(pieces_.keys, tile);
        const PackedMatrix<T> values = from(pieces_.values, tile);
        // The first group that sees each 32 keys; all later groups do, too.
        std::int64_t firstGroup[kKeyBlocks];
        for (std::int64_t& first : firstGroup) {
            first = groups_;
        }
        for (std::int64_t g = groups_; g-- > 0;) {
            const std::int64_t query = firstQuery_ + g * kGroup;
            const std::int64_t last = smaller(query + kGroup, problem_.shape.queries) - 1;
            const std::int64_t rows = rowsSeen(mask_, last, firstKey, count);
            if (rows <= 0) {
                break;
            }
            for (std::int64_t j = 0; j < rows / kBlockDepth; ++j) {
                firstGroup[j] = g;
            }
            blockProduct(keys, from(pieces_.queriesT, g * kGroup), pieces_.scores, rows, kGroup, 0,
                         depthBlocks, Result::Overwrite);
            blockProduct(values, from(pieces_.gradOutputT, g * kGroup), pieces_.gradScores, rows, kGroup, 0,
                         depthBlocks, Result::Overwrite);
            maskScores(mask_, query, firstKey, count, rows, pieces_.scores);
            if (firstKey == 0 && mask_.keysSeenBy(query) <= count) {
                deltaOfWholeRows(g, rows, count);
            }
            differentiateSoftmax(g, rows);
            blockProduct(keysT(tile), pieces_.differences, from(pieces_.gradQT, g * depth_), depth_, kGroup,
                         0, rows / kBlockDepth, Result::Accumulate);
        }
        for (std::int64_t j = 0; j < kKeyBlocks && firstGroup[j] < groups_; ++j) {
            const std::int64_t row = j * kBlockDepth;
            blockProduct(from(pieces_.probabilitiesT, row), pieces_.gradOutput,
                         from(pieces_.gradValues, tile + row), kBlockDepth, depth_, firstGroup[j], groups_,
                         Result::Accumulate);
            blockProduct(from(pieces_.differencesT, row), pieces_.queries, from(pieces_.gradKeys, tile + row),
                         kBlockDepth, depth_, firstGroup[j], groups_, Result::Accumulate);
        }
    }

    /// Row statistics of 16 queries.
    struct Row {
        __m512 offset, reciprocal, delta;
    };
    Row rowOf(std::int64_t query) const
    {
        return {_mm512_load_ps(pieces_.offset + query), _mm512_load_ps(pieces_.reciprocal + query),
                _mm512_load_ps(pieces_.delta + query)};
    }

    /// The same bits as in forward for exact precisions. Otherwise the rounding of the log-sum-exp may make
    /// exponents of large scores positive, so they are limited to 0.
    __m512 probability(const float* score, const Row& row) const
    {
        const __m512 scale = _mm512_set1_ps(scale_);
        return kExact ? exponential2<T>((_mm512_load_ps(score) - row.offset) * scale) * row.reciprocal
                      : exponential2<T>(
                            _mm512_min_ps(_mm512_setzero_ps(), _mm512_load_ps(score) * scale - row.offset));
    }

    /// If this tile holds all keys of the rows, delta is made from the same dp, so that rounding errors
    /// cancel.
    void deltaOfWholeRows(std::int64_t group, std::int64_t rows, std::int64_t count)
    {
        for (int half = 0; half < kHalves; ++half) {
            const std::int64_t first = group * kGroup + half * 16;
            const Row queries = rowOf(first);
            __m512 sum = _mm512_setzero_ps();
            for (std::int64_t j = 0; j < rows; ++j) {
                sum += probability(pieces_.scores.row(j) + half * 16, queries) *
                       _mm512_load_ps(pieces_.gradScores.row(j) + half * 16);
            }
            alignas(64) float delta[16];
            _mm512_store_ps(delta, sum);
            for (std::int64_t i = 0; i < 16; ++i) {
                const std::int64_t query = smaller(firstQuery_ + first + i, problem_.shape.queries - 1);
                const std::int64_t keysSeen = mask_.keysSeenBy(query);
                if (keysSeen == 1) {
                    // A softmax over one key is constant; dp - delta would be a rounding error.
                    pieces_.gradScores.data[half * 16 + i] = 0;
                    pieces_.delta[first + i] = -pieces_.gradLogSumExp[first + i];
                } else if (keysSeen <= count) {
                    pieces_.delta[first + i] = delta[i] - pieces_.gradLogSumExp[first + i];
                }
            }
        }
    }

    /// Replaces scores by probabilities, and gradients of probabilities by gradients of scores, both in
    /// 16-bit parts.
    void differentiateSoftmax(std::int64_t group, std::int64_t rows)
    {
        const std::int64_t first = group * kGroup;
        const Row queries[kHalves] = {rowOf(first), rowOf(first + 16)};
        for (std::int64_t j = 0; j < rows; j += 2) {
            __m512 p[2][kHalves], ds[2][kHalves];
            for (int row = 0; row < 2; ++row) {
                for (int half = 0; half < kHalves; ++half) {
                    p[row][half] = probability(pieces_.scores.row(j + row) + half * 16, queries[half]);
                    const __m512 dp = _mm512_load_ps(pieces_.gradScores.row(j + row) + half * 16);
                    ds[row][half] = p[row][half] * (dp - queries[half].delta);
                }
                storeLeft(p[row], pieces_.probabilitiesT, j + row, group);
                storeLeft(ds[row], pieces_.differencesT, j + row, group);
            }
            for (int half = 0; half < kHalves; ++half) {
                __m512i parts[PartsOf<T>::kCount];
                split<T, Order::InPairs>(ds[0][half], ds[1][half], parts);
                Block* const to = pieces_.differences.at(half, j / kBlockDepth);
                for (int part = 0; part < PartsOf<T>::kCount; ++part) {
                    _mm512_store_si512(to[part].pairs[j % kBlockDepth / 2], parts[part]);
                }
            }
        }
    }

    static void storeLeft(const __m512 (&row)[kHalves], PackedMatrix<T> to, std::int64_t index,
                          std::int64_t group)
    {
        __m512i parts[PartsOf<T>::kCount];
        split<T, Order::SideBySide>(row[0], row[1], parts);
        for (int part = 0; part < PartsOf<T>::kCount; ++part) {
            _mm512_store_si512(to.at(index / kBlockRows, group)[part].pairs[index % kBlockRows], parts[part]);
        }
    }

    void writeRows(const MutableView& view, std::int64_t firstKey, std::int64_t rows, Matrix<float> sums,
                   float factor)
    {
        T* to = headOf<T>(view, batch_, keyHead_) + firstKey * view.rowStride;
        const std::int64_t columns = problem_.shape.headDim;
        for (std::int64_t j = 0; j < rows; ++j, to += view.rowStride) {
            for (std::int64_t c = 0; c < columns; c += 16) {
                store16(to + c, _mm512_load_ps(sums.row(j) + c) * factor, columns - c);
            }
        }
    }

    const AttentionProblem& problem_;
    const BackwardTensors& tensors_;
    PackedGradQ gradQ_;
    MaskPolicy<std::int64_t> mask_;
    float scale_; ///< for powers of two
    std::int64_t depth_;
    Pieces pieces_;
    std::int64_t batch_ = 0, keyHead_ = 0, part_ = 0, firstQuery_ = 0, groups_ = 0;
};

/// Adds the parts of one tile of the queries' gradient and writes it.
template <class T>
void packedGradQTile(const AttentionProblem& problem, const BackwardTensors& tensors, std::int64_t parts,
                     std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
{
    const AttentionShape& shape = problem.shape;
    const PackedGradQ gradQ(tensors.workspace, shape);
    const std::int64_t depth = paddedDepth(shape.headDim);
    const __m512 scale = _mm512_set1_ps(static_cast<float>(problem.scale));
    const std::int64_t end = smaller(firstQuery + kPackedQueryTile, shape.queries);
    for (std::int64_t query = firstQuery; query < end; query += kGroup) {
        const Matrix<float> sum = gradQ.of(0, batch, head, query);
        for (std::int64_t part = 1; part < parts; ++part) {
            const float* const more = gradQ.of(part, batch, head, query).data;
            for (std::int64_t i = 0; i < depth * kGroup; ++i) {
                sum.data[i] += more[i];
            }
        }
        storeTransposed(
            sum, {scale, scale}, smaller(kGroup, shape.queries - query), std::int64_t{shape.headDim},
            headOf<T>(tensors.gradQ, batch, head) + query * tensors.gradQ.rowStride, tensors.gradQ.rowStride);
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
