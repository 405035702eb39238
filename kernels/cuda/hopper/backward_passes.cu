/// The two passes around the backward kernel, both bound by memory: before it delta = sum(o * gradO) a row,
/// log-sum-exp in powers of two and zeros to add to; after it fp32 query gradients to the input's type.
#include "kernels/cuda/hopper/backward_passes.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

namespace tilescope::kernels::hopper {
namespace {

constexpr int kPieceFloats = 64 * 64;
constexpr int kPieces = 2; // one for each consumer of the backward kernel

int rowsWithPadding(const AttentionProblem& problem, int queryTile)
{
    return static_cast<int>((problem.shape.queries + queryTile - 1) / queryTile * queryTile);
}

std::int64_t pairs(const AttentionProblem& problem)
{
    return problem.shape.batch * problem.shape.queryHeads;
}

template <class Element> __device__ float toFloat(Element value)
{
    return static_cast<float>(value);
}

struct Rows {
    const unsigned char* data;
    std::int64_t batchStride, headStride, rowStride; // elements
};

struct PrepareArguments {
    Rows o, gradO;
    const float* logSumExp;
    BackwardWorkspace workspace;
    int heads, rows, headDim, queryTiles;
};

/// Eight lanes a row, 16 bytes at a time; 32 rows a block.
template <class Element> __global__ void prepare(PrepareArguments arguments)
{
    const int pair = blockIdx.y;
    const int batch = pair / arguments.heads;
    const int head = pair % arguments.heads;
    const int row = blockIdx.x * 32 + threadIdx.x / 8;
    const int lane = threadIdx.x % 8;
    const auto rowOf = [&](const Rows& rows) {
        return reinterpret_cast<const Element*>(rows.data) + batch * rows.batchStride +
               head * rows.headStride + row * rows.rowStride;
    };
    float sum = 0;
    if (row < arguments.rows) {
        const Element* o = rowOf(arguments.o);
        const Element* gradO = rowOf(arguments.gradO);
        for (int column = lane * 8; column < arguments.headDim; column += 64) {
            const uint4 a = *reinterpret_cast<const uint4*>(o + column);
            const uint4 b = *reinterpret_cast<const uint4*>(gradO + column);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                sum += toFloat(reinterpret_cast<const Element*>(&a)[i]) *
                       toFloat(reinterpret_cast<const Element*>(&b)[i]);
        }
    }
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0U, sum, distance);
    const std::int64_t padded = std::int64_t{pair} * arguments.workspace.paddedRows + row;
    if (lane == 0 && row < arguments.workspace.paddedRows) {
        constexpr float kLog2E = 1.4426950408889634f;
        const float lse =
            row < arguments.rows ? arguments.logSumExp[std::int64_t{pair} * arguments.rows + row] : -INFINITY;
        arguments.workspace.delta[padded] = sum;
        arguments.workspace.logSumExp2[padded] = lse == -INFINITY ? INFINITY : lse * kLog2E;
    }
    // The sums of these 32 rows' share of the pieces.
    const std::int64_t floats = std::int64_t{arguments.queryTiles} * kPieces * kPieceFloats;
    const std::int64_t share = (floats / 4 + gridDim.x - 1) / gridDim.x;
    auto* sums = reinterpret_cast<float4*>(arguments.workspace.gradQuery + pair * floats);
    const std::int64_t end = min((blockIdx.x + 1) * share, floats / 4);
    for (std::int64_t i = blockIdx.x * share + threadIdx.x; i < end; i += blockDim.x)
        sums[i] = make_float4(0, 0, 0, 0);
    if (arguments.workspace.turns && blockIdx.x == 0)
        for (int tile = threadIdx.x; tile < arguments.queryTiles; tile += blockDim.x)
            arguments.workspace.turns[pair * arguments.queryTiles + tile] = 0;
}

struct FinishArguments {
    unsigned char* gradQ;
    std::int64_t batchStride, headStride, rowStride;
    const float* sums;
    float scale;
    int heads, rows, headDim, queryTile;
};

/// One block a piece: 64 rows by 64 columns in accumulator order (wgmma.h). Two neighbouring lanes swap
/// halves, so that each writes 8 bytes.
template <class Element> __global__ void finish(FinishArguments arguments)
{
    const int piece = blockIdx.x % kPieces;
    const int tile = blockIdx.x / kPieces;
    const int pair = blockIdx.y;
    // A tile of 64 rows has its pieces side by side (columns), one of 128 rows below each other.
    const int firstRow = tile * arguments.queryTile + (arguments.queryTile == 128 ? piece * 64 : 0);
    const int firstColumn = arguments.queryTile == 128 ? 0 : piece * 64;
    const auto* sums = reinterpret_cast<const float4*>(arguments.sums) +
                       (std::int64_t{pair} * gridDim.x + blockIdx.x) * (kPieceFloats / 4);
    const int lane = threadIdx.x % 32;
    const bool odd = lane % 2 == 1;
    const int row = firstRow + threadIdx.x / 32 * 16 + lane / 4 + (odd ? 8 : 0);
    Element* out = reinterpret_cast<Element*>(arguments.gradQ) +
                   pair / arguments.heads * arguments.batchStride +
                   pair % arguments.heads * arguments.headStride + row * arguments.rowStride;
#pragma unroll
    for (int chunk = 0; chunk < 8; ++chunk) {
        const float4 mine = sums[chunk * 128 + threadIdx.x]; // row r: x, y; row r + 8: z, w
        // The even lane keeps row r of both lanes, the odd one row r + 8.
        const float sendA = odd ? mine.x : mine.z;
        const float sendB = odd ? mine.y : mine.w;
        const float gotA = __shfl_xor_sync(~0U, sendA, 1);
        const float gotB = __shfl_xor_sync(~0U, sendB, 1);
        const float values[4] = {odd ? gotA : mine.x, odd ? gotB : mine.y, odd ? mine.z : gotA,
                                 odd ? mine.w : gotB};
        const int column = firstColumn + chunk * 8 + lane % 4 / 2 * 4;
        if (row < arguments.rows && column < arguments.headDim) {
            Element packed[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                packed[i] = static_cast<Element>(values[i] * arguments.scale);
            *reinterpret_cast<uint2*>(out + column) = *reinterpret_cast<uint2*>(packed);
        }
    }
}

Rows rowsOf(const ConstView& view)
{
    return {static_cast<const unsigned char*>(view.data), view.batchStride, view.headStride, view.rowStride};
}

} // namespace

std::size_t BackwardWorkspace::bytes(const AttentionProblem& problem, int queryTile)
{
    const std::size_t rows = pairs(problem) * rowsWithPadding(problem, queryTile);
    const std::size_t tiles = rows / queryTile;
    return tiles * kPieces * kPieceFloats * sizeof(float) + 2 * rows * sizeof(float) +
           (problem.deterministic ? tiles * sizeof(unsigned) : 0);
}

BackwardWorkspace BackwardWorkspace::at(void* memory, const AttentionProblem& problem, int queryTile)
{
    const std::size_t rows = pairs(problem) * rowsWithPadding(problem, queryTile);
    const std::size_t tiles = rows / queryTile;
    auto* gradQuery = static_cast<float*>(memory);
    float* logSumExp2 = gradQuery + tiles * kPieces * kPieceFloats;
    float* delta = logSumExp2 + rows;
    return {gradQuery, logSumExp2, delta,
            problem.deterministic ? reinterpret_cast<unsigned*>(delta + rows) : nullptr,
            rowsWithPadding(problem, queryTile)};
}

cudaError_t prepareBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                            const BackwardWorkspace& workspace, int queryTile, cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const PrepareArguments arguments{rowsOf(tensors.o),
                                     rowsOf(tensors.gradO),
                                     static_cast<const float*>(tensors.logSumExp),
                                     workspace,
                                     static_cast<int>(shape.queryHeads),
                                     static_cast<int>(shape.queries),
                                     shape.headDim,
                                     workspace.paddedRows / queryTile};
    const dim3 grid((workspace.paddedRows + 31) / 32, static_cast<unsigned>(pairs(problem)));
    if (problem.type == ElementType::BFloat16)
        prepare<__nv_bfloat16><<<grid, 256, 0, stream>>>(arguments);
    else
        prepare<__half><<<grid, 256, 0, stream>>>(arguments);
    return cudaGetLastError();
}

cudaError_t finishBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                           const BackwardWorkspace& workspace, int queryTile, cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const FinishArguments arguments{static_cast<unsigned char*>(tensors.gradQ.data),
                                    tensors.gradQ.batchStride,
                                    tensors.gradQ.headStride,
                                    tensors.gradQ.rowStride,
                                    workspace.gradQuery,
                                    static_cast<float>(problem.scale),
                                    static_cast<int>(shape.queryHeads),
                                    static_cast<int>(shape.queries),
                                    shape.headDim,
                                    queryTile};
    const dim3 grid(workspace.paddedRows / queryTile * kPieces, static_cast<unsigned>(pairs(problem)));
    if (problem.type == ElementType::BFloat16)
        finish<__nv_bfloat16><<<grid, 128, 0, stream>>>(arguments);
    else
        finish<__half><<<grid, 128, 0, stream>>>(arguments);
    return cudaGetLastError();
}

} // namespace tilescope::kernels::hopper
