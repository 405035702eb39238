#pragma once

#include "kernels/cuda/hopper/forward/fp8_tile.h"
#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstddef>

/// The inputs of FP8 attention, rounded to E4M3.
namespace tilescope::kernels::hopper {

/// The positions of the quantised inputs in the workspace. Addresses are multiples of 128 bytes.
struct Fp8Inputs {
    unsigned char* q; ///< (batch, query heads, queries, head dim)
    unsigned char* k; ///< (batch, key heads, keys, head dim)
    unsigned char* v; ///< (batch, key heads, head dim, keyTiles * kFp8KeyTile): transposed (fp8ColumnOfKey)
    float* queryScales;
    Fp8KeyTileScales* keyScales;
    int queryBlocks;
    int keyTiles;
    std::size_t bytes; ///< total size of the workspace

    static Fp8Inputs in(const AttentionShape& shape, void* workspace);
};

/// Rounds q, k and v to FP8 with one scale per 16 rows of q and per 128 rows of k and of v: the power of two
/// that brings the largest element just below 448. Asynchronous on `stream`.
cudaError_t quantise(const AttentionProblem& problem, const ForwardTensors& tensors, const Fp8Inputs& inputs,
                     cudaStream_t stream);

} // namespace tilescope::kernels::hopper
