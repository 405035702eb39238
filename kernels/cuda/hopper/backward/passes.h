#pragma once

#include "kernels/cuda/common/overlap.h"
#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilescope::kernels::hopper {

/// Query rows in a tile of the backward kernel.
constexpr int backwardQueries(ElementType type, int headDim)
{
    return headDim <= 64 && type != ElementType::Float32 ? 128 : 64;
}

/// A part of a query tile's gradient: 64 rows of up to 64 columns. A consumer computes one at a time for
/// 2-byte elements, and all of a tile in TF32.
struct GradQueryPiece {
    /// Pieces of a tile: two below each other, or one for each 64 columns.
    static constexpr int count(int columns, int tileRows)
    {
        return tileRows == 128 ? 2 : (columns + 63) / 64;
    }
    static constexpr int kRows = 64;
    int firstRow;
    int firstColumn;
    int columns;

    /// Pieces are below each other in a tile of 128 rows, and side by side in one of 64.
    static constexpr GradQueryPiece of(int piece, int columns, int tileRows)
    {
        if (tileRows == 128)
            return {kRows * piece, 0, columns};
        const int rest = columns - 64 * piece;
        return {0, 64 * piece, rest < 0 ? 0 : (rest < 64 ? rest : 64)};
    }
    /// Index of its first sum in the tile's queries * `all` floats.
    constexpr int offset(int all) const { return firstRow * all + kRows * firstColumn; }
};

/// The backward kernel's workspace. Its size is linear in the queries. Rows are padded to whole query tiles,
/// so that TMA copies them in one piece.
struct BackwardWorkspace {
    float* gradQuery;  ///< (batch x head, query tile, piece, 64 x columns): fp32 sums, in the order of
                       ///< accumulator registers
    float* logSumExp2; ///< (batch x head, row): log-sum-exp in powers of two, +infinity for rows that see
                       ///< nothing
    float* delta;      ///< (batch x head, row): sum of o * gradO, less the gradient of the log-sum-exp
    unsigned*
        semaphores; ///< (batch x head, query tile): number of the next addition; nullptr if the order is free
    int paddedRows; ///< rows of a head
    int columns;    ///< columns of gradQuery: the head dim, rounded up to chunks of 8

    static std::size_t bytes(const AttentionProblem& problem);
    static BackwardWorkspace at(void* memory, const AttentionProblem& problem);
};

/// Fills logSumExp2 and delta, and zeroes gradQuery and the semaphores.
cudaError_t prepareBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                            const BackwardWorkspace& workspace, cudaStream_t stream);

/// Converts the sums of the query gradients to gradQ.
cudaError_t finishBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                           const BackwardWorkspace& workspace, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
