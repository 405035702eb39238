#pragma once

#include "kernels/cpu/vectors.h"
#include "kernels/include/attention.h"

namespace tilescope::kernels::TILESCOPE_ISA {

/// Rows of queries and of keys in a tile. With 64 x 128 the fp32 tiles of head dim 128 (queries, keys,
/// values, scores, output: 250 KB) stay in an L2 cache of 512 KB.
inline constexpr std::int64_t kQueryTile = 64;
inline constexpr std::int64_t kKeyTile = 128;

template <class Index> constexpr Index smaller(Index a, Index b)
{
    return a < b ? a : b;
}
template <class Acc> constexpr std::int64_t paddedColumns(std::int64_t columns)
{
    return (columns + kWidth<Acc> - 1) / kWidth<Acc> * kWidth<Acc>;
}
template <class Acc> constexpr std::int64_t scratchStride(std::int64_t columns)
{
    return paddedColumns<Acc>(columns) + kWidth<Acc>;
}
template <class Acc> constexpr std::size_t matrixBytes(std::int64_t rows, std::int64_t columns)
{
    return static_cast<std::size_t>(rows * scratchStride<Acc>(columns)) * sizeof(Acc);
}

/// Allocates from a thread's scratch memory, aligned to vectors.
struct Scratch {
    std::byte* next;
    template <class Acc> Matrix<Acc> matrix(std::int64_t rows, std::int64_t columns)
    {
        Matrix<Acc> result{reinterpret_cast<Acc*>(next), scratchStride<Acc>(columns)};
        next += matrixBytes<Acc>(rows, columns);
        return result;
    }
};

/// First element of (batch, head) in a view of T.
template <class T> const T* headOf(const ConstView& view, std::int64_t batch, std::int64_t head)
{
    return static_cast<const T*>(view.data) + batch * view.batchStride + head * view.headStride;
}
template <class T> T* headOf(const MutableView& view, std::int64_t batch, std::int64_t head)
{
    return static_cast<T*>(view.data) + batch * view.batchStride + head * view.headStride;
}

/// The gradient of a row's log-sum-exp.
/// \param row  index over all batches and heads
template <class Acc> Acc gradLogSumExpOf(const BackwardTensors& tensors, std::int64_t row)
{
    return tensors.gradLogSumExp ? static_cast<const Acc*>(tensors.gradLogSumExp)[row] : Acc{0};
}

/// Copies rows x columns to accumulators; columns up to the next whole vector become 0.
template <class T, class Acc>
void loadRows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, Matrix<Acc> to)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* source = from + r * stride;
        Acc* target = to.row(r);
        for (std::int64_t c = 0; c < columns; ++c) {
            target[c] = toAccumulator(source[c]);
        }
        for (std::int64_t c = columns; c < paddedColumns<Acc>(columns); ++c) {
            target[c] = 0;
        }
    }
}

/// The transpose of `from`; its columns up to the next whole vector become 0.
template <class T, class Acc>
void loadTransposed(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                    Matrix<Acc> to)
{
    for (std::int64_t c = 0; c < columns; ++c) {
        Acc* target = to.row(c);
        for (std::int64_t r = 0; r < rows; ++r) {
            target[r] = toAccumulator(from[r * stride + c]);
        }
        for (std::int64_t r = rows; r < paddedColumns<Acc>(rows); ++r) {
            target[r] = 0;
        }
    }
}

/// Writes one row times `factor` in the element type.
template <class T, class Acc> void storeRow(const Acc* from, Acc factor, std::int64_t columns, T* to)
{
    for (std::int64_t c = 0; c < columns; ++c) {
        fromAccumulator(from[c] * factor, to[c]);
    }
}

} // namespace tilescope::kernels::TILESCOPE_ISA
