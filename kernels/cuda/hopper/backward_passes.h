#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilescope::kernels::hopper {

/// Query rows that the backward kernel takes at a time.
constexpr int backwardQueries(int headDim)
{
    return headDim <= 64 ? 128 : 64;
}

/// The part of a query tile's gradient that one consumer of the backward kernel computes: 64 rows of it.
struct GradQueryPiece {
    static constexpr int kCount = 2; ///< of a tile
    static constexpr int kRows = 64;
    int firstRow;
    int firstColumn;
    int columns;

    /// Below each other in a tile of 128 rows, side by side in one of 64.
    static constexpr GradQueryPiece of(int piece, int headDim)
    {
        if (backwardQueries(headDim) == 128)
            return {kRows * piece, 0, headDim};
        return {0, 64 * piece, piece == 0 ? 64 : headDim - 64};
    }
    /// Where its sums begin in those of its tile, queries * headDim floats.
    constexpr int offset(int headDim) const { return firstRow * headDim + kRows * firstColumn; }
};

/// What the backward kernel reads and sums besides its tensors; all of it linear in the queries.
///
/// Rows are padded to whole query tiles, so that the copy engine moves them in one piece.
struct BackwardWorkspace {
    float* gradQuery;  ///< (batch x head, query tile, piece, 64 x columns): fp32 sums, in the order of
                       ///< accumulator registers
    float* logSumExp2; ///< (batch x head, row): log-sum-exp in powers of two, +infinity for rows that see
                       ///< nothing
    float* delta;      ///< (batch x head, row): sum of o * gradO
    unsigned*
        turns; ///< (batch x head, query tile): next key tile to add, where the order is fixed; else nullptr
    int paddedRows; ///< rows of a head

    static std::size_t bytes(const AttentionProblem& problem);
    static BackwardWorkspace at(void* memory, const AttentionProblem& problem);
};

/// Fills logSumExp2 and delta, and zeroes what the kernel adds to.
cudaError_t prepareBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                            const BackwardWorkspace& workspace, cudaStream_t stream);

/// Turns the summed query gradients into gradQ.
cudaError_t finishBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                           const BackwardWorkspace& workspace, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
