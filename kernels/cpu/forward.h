#pragma once

#include "kernels/cpu/tiles.h"
#include "kernels/include/mask.h"

namespace tilescope::kernels::TILESCOPE_ISA {

/// One tile of queries with every key that it sees.
///
/// Scores are transposed (keys x queries). Queries fill the vectors, so that the running maximum and sum need
/// no operations across lanes, and K and V are read in their own layout. Bound: 4 * queries * keys * headDim
/// floating-point operations at two vector FMAs per clock.
template <class T> class ForwardTile {
    using Acc = typename AccumulatorOf<T>::type;
    static constexpr int kLanes = kWidth<Acc>;
    static constexpr int kGroups = int(kQueryTile) / kLanes;

public:
    ForwardTile(const AttentionProblem& problem, const ForwardTensors& tensors, std::byte* scratch)
        : problem_(problem),
          tensors_(tensors), mask_{problem.shape.queries, problem.shape.keys, problem.causal},
          scale_(static_cast<Acc>(problem.scale)), depth_(problem.shape.headDim)
    {
        Scratch pieces{scratch};
        queriesT_ = pieces.matrix<Acc>(depth_, kQueryTile);
        keys_ = pieces.matrix<Acc>(kKeyTile, depth_);
        values_ = pieces.matrix<Acc>(kKeyTile, depth_);
        scores_ = pieces.matrix<Acc>(kKeyTile, kQueryTile);
        output_ = pieces.matrix<Acc>(kQueryTile, depth_);
    }

    static std::size_t scratchBytes(std::int64_t depth)
    {
        return matrixBytes<Acc>(depth, kQueryTile) + 2 * matrixBytes<Acc>(kKeyTile, depth) +
               matrixBytes<Acc>(kKeyTile, kQueryTile) + matrixBytes<Acc>(kQueryTile, depth);
    }

    void run(std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
    {
        const AttentionShape& shape = problem_.shape;
        const std::int64_t keyHead = head / (shape.queryHeads / shape.keyHeads);
        firstQuery_ = firstQuery;
        rows_ = smaller(kQueryTile, shape.queries - firstQuery);
        loadTransposed(headOf<T>(tensors_.q, batch, head) + firstQuery * tensors_.q.rowStride,
                       tensors_.q.rowStride, rows_, depth_, queriesT_);
        for (int g = 0; g < kGroups; ++g) {
            maximum_[g] = broadcast(-static_cast<Acc>(__builtin_inf()));
            sum_[g] = Vector<Acc>{};
        }
        const T* keys = headOf<T>(tensors_.k, batch, keyHead);
        const T* values = headOf<T>(tensors_.v, batch, keyHead);
        const std::int64_t keysSeen = mask_.keysSeenBy(firstQuery + rows_ - 1);
        for (std::int64_t key = 0; key < keysSeen; key += kKeyTile) {
            const std::int64_t count = smaller(kKeyTile, keysSeen - key);
            loadRows(keys + key * tensors_.k.rowStride, tensors_.k.rowStride, count, depth_, keys_);
            loadRows(values + key * tensors_.v.rowStride, tensors_.v.rowStride, count, depth_, values_);
            product(asIs(keys_), queriesT_, scores_, count, rows_, depth_, Result::Overwrite);
            maskScores(key, count);
            softmax(count, /*rescale=*/key > 0);
            product(transposed(scores_), values_, output_, rows_, depth_, count,
                    key > 0 ? Result::Accumulate : Result::Overwrite);
        }
        write(batch, head, keysSeen > 0);
    }

private:
    void maskScores(std::int64_t firstKey, std::int64_t count)
    {
        if (mask_.keysSeenBy(firstQuery_) >= firstKey + count) {
            return;
        }
        for (std::int64_t j = 0; j < count; ++j) {
            Acc* row = scores_.row(j);
            for (std::int64_t i = 0; i < rows_; ++i) {
                row[i] =
                    mask_.sees(firstQuery_ + i, firstKey + j) ? row[i] : -static_cast<Acc>(__builtin_inf());
            }
        }
    }

    /// The number to subtract from the scores of rows whose largest is `maximum`: 0 for -infinity, because
    /// -infinity - (-infinity) would be NaN.
    static Vector<Acc> baseOf(Vector<Acc> maximum)
    {
        return maximum == -static_cast<Acc>(__builtin_inf()) ? Vector<Acc>{} : maximum;
    }

    /// Replaces scores by exp(scale * (score - maximum)) and rescales the sums made with the old maximum.
    void softmax(std::int64_t count, bool rescale)
    {
        for (int g = 0; g < kGroups && g * kLanes < rows_; ++g) {
            Acc* column = scores_.data + g * kLanes;
            Vector<Acc> maximum = maximum_[g];
            for (std::int64_t j = 0; j < count; ++j) {
                const Vector<Acc> score = load(column + j * scores_.stride);
                maximum = score > maximum ? score : maximum;
            }
            const Vector<Acc> base = baseOf(maximum);
            // Exactly 1 if the maximum does not change.
            const Vector<Acc> factor = exponential((maximum_[g] - base) * scale_);
            const Vector<Acc> sum = exponentiate(column, count, base);
            sum_[g] = rescale ? sum_[g] * factor + sum : sum;
            maximum_[g] = maximum;
            if (rescale) {
                rescaleRows(g, factor);
            }
        }
    }

    /// Replaces a column of scores by exponentials and returns their sum. It subtracts before it scales,
    /// because the rounding error of a large scaled score would exceed the exponential's range.
    Vector<Acc> exponentiate(Acc* column, std::int64_t count, Vector<Acc> base)
    {
        // Several partial sums, because small terms would be lost if added one by one to a sum near 1.
        constexpr int kPartial = 8;
        Vector<Acc> partial[kPartial] = {};
        for (std::int64_t j = 0; j < count; j += kPartial) {
            for (int s = 0; s < kPartial && j + s < count; ++s) {
                Acc* at = column + (j + s) * scores_.stride;
                const Vector<Acc> p = exponential((load(at) - base) * scale_);
                store(at, p);
                partial[s] += p;
            }
        }
        for (int half = kPartial / 2; half > 0; half /= 2) {
            for (int s = 0; s < half; ++s) {
                partial[s] += partial[s + half];
            }
        }
        return partial[0];
    }

    void rescaleRows(int group, Vector<Acc> factor)
    {
        for (int lane = 0; lane < kLanes && group * kLanes + lane < rows_; ++lane) {
            const Acc by = factor[lane];
            if (by == 1) {
                continue;
            }
            Acc* row = output_.row(group * kLanes + lane);
            for (std::int64_t c = 0; c < paddedColumns<Acc>(depth_); ++c) {
                row[c] *= by;
            }
        }
    }

    void write(std::int64_t batch, std::int64_t head, bool sawKeys)
    {
        const AttentionShape& shape = problem_.shape;
        T* output = headOf<T>(tensors_.o, batch, head) + firstQuery_ * tensors_.o.rowStride;
        const std::int64_t flat = (batch * shape.queryHeads + head) * shape.queries + firstQuery_;
        Acc* logSumExp = static_cast<Acc*>(tensors_.logSumExp) + flat;
        auto* statistics = static_cast<RowStatistics<Acc>*>(tensors_.statistics);
        statistics = statistics ? statistics + flat : nullptr;
        for (std::int64_t i = 0; i < rows_; ++i) {
            const Acc sum = sum_[i / kLanes][i % kLanes];
            T* row = output + i * tensors_.o.rowStride;
            if (!sawKeys || sum == 0) {
                for (std::int64_t c = 0; c < depth_; ++c) {
                    fromAccumulator(Acc{0}, row[c]);
                }
                logSumExp[i] = -static_cast<Acc>(__builtin_inf());
                keep(statistics, i, {0, 0});
                continue;
            }
            storeRow(output_.row(i), 1 / sum, depth_, row);
            const Acc base = baseOf(maximum_[i / kLanes])[i % kLanes];
            logSumExp[i] = base * scale_ + logarithm(sum);
            keep(statistics, i, {base, 1 / sum});
        }
    }

    static void keep(RowStatistics<Acc>* statistics, std::int64_t row, RowStatistics<Acc> values)
    {
        if (statistics) {
            statistics[row] = values;
        }
    }

    const AttentionProblem& problem_;
    const ForwardTensors& tensors_;
    MaskPolicy<std::int64_t> mask_;
    Acc scale_;
    std::int64_t depth_;
    std::int64_t firstQuery_ = 0;
    std::int64_t rows_ = 0;
    Matrix<Acc> queriesT_, keys_, values_, scores_, output_;
    // For each query: the largest score so far, and the sum of its exponentials.
    Vector<Acc> maximum_[kGroups], sum_[kGroups];
};

} // namespace tilescope::kernels::TILESCOPE_ISA
