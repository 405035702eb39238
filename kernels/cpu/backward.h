#pragma once

#include "kernels/cpu/tiles.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::TILESCOPE_ISA {

/// Layout of backward's workspace: delta = rowsum(gradO * o) - gradLogSumExp and the partial gradients of q.
///
/// The keys of a head may be divided among `parts` tasks, so that few heads keep many threads busy. Each part
/// sums its own gradient of q, and the parts are added in order, which gives the same bits in each run.
template <class Acc> struct BackwardWorkspace {
    Acc* delta;
    Acc* gradQ;
    std::int64_t queryRows; ///< in all batches and heads
    std::int64_t stride;

    static std::size_t bytes(const AttentionShape& shape, std::int64_t parts)
    {
        const std::int64_t rows = shape.batch * shape.queryHeads * shape.queries;
        return static_cast<std::size_t>(rows * (1 + parts * paddedColumns<Acc>(shape.headDim))) * sizeof(Acc);
    }
    BackwardWorkspace(void* memory, const AttentionShape& shape)
        : delta(static_cast<Acc*>(memory)), gradQ(delta + shape.batch * shape.queryHeads * shape.queries),
          queryRows(shape.batch * shape.queryHeads * shape.queries), stride(paddedColumns<Acc>(shape.headDim))
    {
    }
    Matrix<Acc> gradQOf(std::int64_t part, std::int64_t firstRow) const
    {
        return {gradQ + (part * queryRows + firstRow) * stride, stride};
    }
};

/// All tiles of keys of one part of one (batch, key head), with every query that sees them.
///
/// Scores are recomputed: five products of 2 * queries * keys * headDim operations each, compared with two in
/// forward.
template <class T> class BackwardPart {
    using Acc = typename AccumulatorOf<T>::type;
    static constexpr int kLanes = kWidth<Acc>;
    static constexpr bool kExact = __is_same(T, Acc); ///< keepsRowStatistics()

public:
    BackwardPart(const AttentionProblem& problem, const BackwardTensors& tensors, std::byte* scratch)
        : problem_(problem), tensors_(tensors),
          workspace_(tensors.workspace, problem.shape), mask_{problem.shape.queries, problem.shape.keys,
                                                              problem.causal},
          scale_(static_cast<Acc>(problem.scale)), depth_(problem.shape.headDim)
    {
        Scratch pieces{scratch};
        keys_ = pieces.matrix<Acc>(kKeyTile, depth_);
        keysT_ = pieces.matrix<Acc>(depth_, kKeyTile);
        valuesT_ = pieces.matrix<Acc>(depth_, kKeyTile);
        queries_ = pieces.matrix<Acc>(kQueryTile, depth_);
        gradOutput_ = pieces.matrix<Acc>(kQueryTile, depth_);
        scores_ = pieces.matrix<Acc>(kQueryTile, kKeyTile);
        gradScores_ = pieces.matrix<Acc>(kQueryTile, kKeyTile);
        gradKeys_ = pieces.matrix<Acc>(kKeyTile, depth_);
        gradValues_ = pieces.matrix<Acc>(kKeyTile, depth_);
    }

    static std::size_t scratchBytes(std::int64_t depth)
    {
        return 3 * matrixBytes<Acc>(kKeyTile, depth) + 2 * matrixBytes<Acc>(depth, kKeyTile) +
               2 * matrixBytes<Acc>(kQueryTile, depth) + 2 * matrixBytes<Acc>(kQueryTile, kKeyTile);
    }

    void run(std::int64_t batch, std::int64_t keyHead, std::int64_t part, std::int64_t parts)
    {
        const AttentionShape& shape = problem_.shape;
        batch_ = batch;
        part_ = part;
        const std::int64_t group = shape.queryHeads / shape.keyHeads;
        clearGradQ(keyHead * group, group);
        for (std::int64_t key = part * kKeyTile; key < shape.keys; key += parts * kKeyTile) {
            firstKey_ = key;
            keyCount_ = smaller(kKeyTile, shape.keys - key);
            const T* keys = headOf<T>(tensors_.k, batch, keyHead) + key * tensors_.k.rowStride;
            const T* values = headOf<T>(tensors_.v, batch, keyHead) + key * tensors_.v.rowStride;
            loadRows(keys, tensors_.k.rowStride, keyCount_, depth_, keys_);
            loadTransposed(keys, tensors_.k.rowStride, keyCount_, depth_, keysT_);
            loadTransposed(values, tensors_.v.rowStride, keyCount_, depth_, valuesT_);
            Result result = Result::Overwrite;
            for (std::int64_t head = keyHead * group; head < (keyHead + 1) * group; ++head) {
                const std::int64_t first = mask_.firstQueryOf(key) / kQueryTile * kQueryTile;
                for (std::int64_t query = first; query < shape.queries; query += kQueryTile) {
                    queryTile(head, query, result);
                    result = Result::Accumulate;
                }
            }
            write(tensors_.gradK, keyHead, gradKeys_, scale_, result == Result::Accumulate);
            write(tensors_.gradV, keyHead, gradValues_, Acc{1}, result == Result::Accumulate);
        }
    }

private:
    std::int64_t flatRow(std::int64_t head, std::int64_t query) const
    {
        return (batch_ * problem_.shape.queryHeads + head) * problem_.shape.queries + query;
    }

    void clearGradQ(std::int64_t firstHead, std::int64_t heads)
    {
        Acc* from = workspace_.gradQOf(part_, flatRow(firstHead, 0)).data;
        const std::int64_t count = heads * problem_.shape.queries * workspace_.stride;
        for (std::int64_t i = 0; i < count; ++i) {
            from[i] = 0;
        }
    }

    void queryTile(std::int64_t head, std::int64_t query, Result result)
    {
        const std::int64_t rows = smaller(kQueryTile, problem_.shape.queries - query);
        loadRows(headOf<T>(tensors_.q, batch_, head) + query * tensors_.q.rowStride, tensors_.q.rowStride,
                 rows, depth_, queries_);
        loadRows(headOf<T>(tensors_.gradO, batch_, head) + query * tensors_.gradO.rowStride,
                 tensors_.gradO.rowStride, rows, depth_, gradOutput_);
        product(asIs(queries_), keysT_, scores_, rows, keyCount_, depth_, Result::Overwrite);
        product(asIs(gradOutput_), valuesT_, gradScores_, rows, keyCount_, depth_, Result::Overwrite);
        differentiateSoftmax(head, query, rows);
        product(transposed(scores_), gradOutput_, gradValues_, keyCount_, depth_, rows, result);
        product(transposed(gradScores_), queries_, gradKeys_, keyCount_, depth_, rows, result);
        product(asIs(gradScores_), keys_, workspace_.gradQOf(part_, flatRow(head, query)), rows, depth_,
                keyCount_, Result::Accumulate);
    }

    /// Replaces scores by probabilities, and gradients of probabilities by gradients of scores.
    void differentiateSoftmax(std::int64_t head, std::int64_t query, std::int64_t rows)
    {
        const bool masked = mask_.keysSeenBy(query) < firstKey_ + keyCount_;
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t flat = flatRow(head, query + i);
            const RowStatistics<Acc> row = statisticsOf(flat);
            const std::int64_t keysSeen = mask_.keysSeenBy(query + i);
            const std::int64_t seen = masked ? keysSeen - firstKey_ : keyCount_;
            Acc* p = scores_.row(i);
            Acc* dp = gradScores_.row(i);
            for (std::int64_t j = 0; j < keyCount_; j += kLanes) {
                store(p + j, probability(load(p + j), row));
            }
            for (std::int64_t j = seen < 0 ? 0 : seen; j < keyCount_; ++j) {
                p[j] = 0;
            }
            // If this tile holds all keys of the row, delta is made from the same dp, so that rounding errors
            // cancel.
            const bool wholeRow = firstKey_ == 0 && keysSeen <= keyCount_;
            const Acc gradRow = gradLogSumExpOf<Acc>(tensors_, flat);
            const Acc delta = wholeRow ? dot(p, dp, keyCount_) - gradRow : workspace_.delta[flat];
            for (std::int64_t j = 0; j < keyCount_; j += kLanes) {
                store(dp + j, load(p + j) * (load(dp + j) - delta));
            }
            if (keysSeen == 1) {
                // A softmax over one key is constant; dp - delta would be a rounding error.
                dp[0] = p[0] * gradRow;
            }
        }
    }

    /// The same bits as in forward for exact precisions. Otherwise the rounding of the log-sum-exp may make
    /// exponents of large scores positive, so they are limited to 0.
    Vector<Acc> probability(Vector<Acc> score, const RowStatistics<Acc>& row) const
    {
        if constexpr (kExact) {
            return exponential((score - row.offset) * scale_) * row.reciprocal;
        } else {
            const Vector<Acc> exponent = score * scale_ - row.offset;
            return exponential(exponent > 0 ? Vector<Acc>{} : exponent) * row.reciprocal;
        }
    }

    static Acc dot(const Acc* a, const Acc* b, std::int64_t count)
    {
        double sum = 0;
        for (std::int64_t j = 0; j < count; ++j) {
            sum += double{a[j]} * double{b[j]};
        }
        return static_cast<Acc>(sum);
    }

    RowStatistics<Acc> statisticsOf(std::int64_t flat) const
    {
        if constexpr (kExact) {
            return static_cast<const RowStatistics<Acc>*>(tensors_.statistics)[flat];
        }
        const Acc logSumExp = static_cast<const Acc*>(tensors_.logSumExp)[flat];
        const bool empty = logSumExp == -static_cast<Acc>(__builtin_inf());
        return {empty ? 0 : logSumExp, static_cast<Acc>(empty ? 0 : 1)};
    }

    void write(const MutableView& view, std::int64_t keyHead, Matrix<Acc> from, Acc factor, bool written)
    {
        T* to = headOf<T>(view, batch_, keyHead) + firstKey_ * view.rowStride;
        for (std::int64_t j = 0; j < keyCount_; ++j) {
            if (written) {
                storeRow(from.row(j), factor, depth_, to + j * view.rowStride);
            } else {
                for (std::int64_t c = 0; c < depth_; ++c) {
                    fromAccumulator(Acc{0}, to[j * view.rowStride + c]);
                }
            }
        }
    }

    const AttentionProblem& problem_;
    const BackwardTensors& tensors_;
    BackwardWorkspace<Acc> workspace_;
    MaskPolicy<std::int64_t> mask_;
    Acc scale_;
    std::int64_t depth_;
    std::int64_t batch_ = 0, part_ = 0, firstKey_ = 0, keyCount_ = 0;
    Matrix<Acc> keys_, keysT_, valuesT_, queries_, gradOutput_, scores_, gradScores_, gradKeys_, gradValues_;
};

/// delta of one tile of queries.
template <class T>
void deltaTile(const AttentionProblem& problem, const BackwardTensors& tensors, std::int64_t batch,
               std::int64_t head, std::int64_t firstQuery)
{
    using Acc = typename AccumulatorOf<T>::type;
    const AttentionShape& shape = problem.shape;
    const BackwardWorkspace<Acc> workspace(tensors.workspace, shape);
    const std::int64_t end = smaller(firstQuery + kQueryTile, shape.queries);
    for (std::int64_t i = firstQuery; i < end; ++i) {
        const T* output = headOf<T>(tensors.o, batch, head) + i * tensors.o.rowStride;
        const T* gradOutput = headOf<T>(tensors.gradO, batch, head) + i * tensors.gradO.rowStride;
        // In double, because delta is subtracted from numbers of similar size.
        double sum = 0;
        for (int c = 0; c < shape.headDim; ++c) {
            sum += double{toAccumulator(output[c])} * double{toAccumulator(gradOutput[c])};
        }
        const std::int64_t flat = (batch * shape.queryHeads + head) * shape.queries + i;
        workspace.delta[flat] = static_cast<Acc>(sum - double{gradLogSumExpOf<Acc>(tensors, flat)});
    }
}

/// Adds the parts of one tile of the queries' gradient and writes it.
template <class T>
void gradQTile(const AttentionProblem& problem, const BackwardTensors& tensors, std::int64_t parts,
               std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
{
    using Acc = typename AccumulatorOf<T>::type;
    const AttentionShape& shape = problem.shape;
    const BackwardWorkspace<Acc> workspace(tensors.workspace, shape);
    const std::int64_t end = smaller(firstQuery + kQueryTile, shape.queries);
    for (std::int64_t i = firstQuery; i < end; ++i) {
        const std::int64_t flat = (batch * shape.queryHeads + head) * shape.queries + i;
        Acc* sum = workspace.gradQOf(0, flat).data;
        for (std::int64_t part = 1; part < parts; ++part) {
            const Acc* other = workspace.gradQOf(part, flat).data;
            for (int c = 0; c < shape.headDim; ++c) {
                sum[c] += other[c];
            }
        }
        storeRow(sum, static_cast<Acc>(problem.scale), shape.headDim,
                 headOf<T>(tensors.gradQ, batch, head) + i * tensors.gradQ.rowStride);
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
