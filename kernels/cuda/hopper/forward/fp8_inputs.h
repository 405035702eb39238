#pragma once

#include "kernels/cuda/hopper/forward/fp8_tile.h"
#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstddef>

/// The inputs of FP8 attention, rounded to E4M3.
namespace tilescope::kernels::hopper {

/// Where the quantised inputs lie in the workspace. Addresses are multiples of 128 bytes.
struct Fp8Inputs {
    unsigned char* q; ///< (batch, query heads, queries, head dim)
    unsigned char* k; ///< (batch, key heads, keys, head dim)
    unsigned char* v; ///< (batch, key heads, head dim, keyTiles * kFp8KeyTile): transposed (fp8ColumnOfKey)
    float* queryScales;
    Fp8KeyTileScales* keyScales;
    int queryBlocks;
    int keyTiles;
    std::size_t bytes; ///< of all

    static Fp8Inputs in(const AttentionShape& shape, void* workspace);
};

/// Rounds q, k and v to FP8 with a scale for each 16 rows of q and each 128 rows of k and of v: the power of two for which
/// the largest element is just below 448. Asynchronous on `stream`.
cudaError_t quantise(const AttentionProblem& problem, const ForwardTensors& tensors, const Fp8Inputs& inputs,
                     cudaStream_t stream);

} // namespace tilescope::kernels::hopper
