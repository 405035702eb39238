#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilescope::kernels::hopper {

/// What the backward kernel reads and sums besides its tensors; all of it linear in the queries.
///
/// Rows are padded to whole query tiles, so that the copy engine moves them in one piece.
struct BackwardWorkspace {
    float* gradQuery;  ///< (batch x head, query tile, piece, 16 KiB): fp32 sums, in the order of accumulator
                       ///< registers
    float* logSumExp2; ///< (batch x head, row): log-sum-exp in powers of two, +infinity for rows that see
                       ///< nothing
    float* delta;      ///< (batch x head, row): sum of o * gradO
    unsigned*
        turns; ///< (batch x head, query tile): next key tile to add, where the order is fixed; else nullptr
    int paddedRows; ///< rows of a head

    static std::size_t bytes(const AttentionProblem& problem, int queryTile);
    static BackwardWorkspace at(void* memory, const AttentionProblem& problem, int queryTile);
};

/// Fills logSumExp2 and delta, and zeroes what the kernel adds to.
cudaError_t prepareBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                            const BackwardWorkspace& workspace, int queryTile, cudaStream_t stream);

/// Turns the summed query gradients into gradQ.
cudaError_t finishBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                           const BackwardWorkspace& workspace, int queryTile, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
