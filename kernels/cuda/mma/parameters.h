#pragma once

#include "kernels/cuda/common/tile_order.h"
#include "kernels/include/attention.h"
#include "kernels/include/mask.h"

#include <cuda_runtime_api.h>

namespace tilescope::kernels {

/// Parameters of the mma.sync kernels, passed by value. Strides count elements. The head dim, all addresses
/// and all strides are multiples of 16 bytes.
struct KernelShape {
    int queryHeads;
    int keyHeads;
    int queries;
    int keys;
    int headDim;
    int batch;
    float scale;
    bool causal;

    __host__ __device__ MaskPolicy<int> mask() const { return {queries, keys, causal}; }
    __host__ __device__ int group() const { return queryHeads / keyHeads; }
};

inline KernelShape kernelShape(const AttentionProblem& problem)
{
    const AttentionShape& shape = problem.shape;
    return {.queryHeads = static_cast<int>(shape.queryHeads),
            .keyHeads = static_cast<int>(shape.keyHeads),
            .queries = static_cast<int>(shape.queries),
            .keys = static_cast<int>(shape.keys),
            .headDim = shape.headDim,
            .batch = static_cast<int>(shape.batch),
            .scale = static_cast<float>(problem.scale),
            .causal = problem.causal};
}

struct ForwardParameters {
    KernelShape shape;
    ConstView q, k, v;
    MutableView o;
    float* logSumExp;
    RowStatistics<float>* statistics; ///< or null
    TileOrder order{};                ///< of the blocks; launchers fill it in
};

struct BackwardParameters {
    KernelShape shape;
    ConstView q, k, v, o, gradO;
    const float* logSumExp;
    const RowStatistics<float>* statistics;
    MutableView gradQ, gradK, gradV;
    float* delta; ///< (batch, query heads, queries): rowsum(gradO * o) - gradLogSumExp; of rows with one key
                  ///< - gradLogSumExp alone
    float* gradQSum;   ///< (batch, query heads, queries, head dim), fp32
    int* semaphores;   ///< next tile of keys to add to each tile of queries; null if the order is free
    TileOrder order{}; ///< of the blocks; launchers fill it in
    const float* gradLogSumExp = nullptr; ///< (batch, query heads, queries), or null for 0
};

/// First element of (batch, head); 64-bit, since a tensor may hold more than 2^31 elements.
template <class Element> __device__ inline const Element* headOf(const ConstView& view, int batch, int head)
{
    return static_cast<const Element*>(view.data) + batch * view.batchStride + head * view.headStride;
}
template <class Element> __device__ inline Element* headOf(const MutableView& view, int batch, int head)
{
    return static_cast<Element*>(view.data) + batch * view.batchStride + head * view.headStride;
}

/// Launchers return the result of cudaGetLastError() and do not synchronize.
using ForwardLauncher = cudaError_t (*)(const ForwardParameters&, cudaStream_t);
using BackwardLauncher = cudaError_t (*)(const BackwardParameters&, cudaStream_t);

} // namespace tilescope::kernels
