/// The two passes around the backward kernel, both bound by memory. The first computes delta = sum(o * gradO)
/// of each row and the log-sum-exp in powers of two, and zeroes the sums of the query gradients. The second
/// converts these sums to the input's type.
#include "kernels/cuda/hopper/backward/passes.h"

#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/hopper/common/pipeline.h"

#include <algorithm>
#include <type_traits>

namespace tilescope::kernels::hopper {
namespace {

std::int64_t tileRowsOf(const AttentionProblem& problem)
{
    return backwardQueries(problem.type, problem.shape.headDim);
}

int queryTilesOf(const AttentionProblem& problem)
{
    const std::int64_t rows = tileRowsOf(problem);
    return static_cast<int>((problem.shape.queries + rows - 1) / rows);
}

std::int64_t paddedRowsOf(const AttentionProblem& problem)
{
    return queryTilesOf(problem) * tileRowsOf(problem);
}

int columnsOf(const AttentionProblem& problem)
{
    return (problem.shape.headDim + 7) / 8 * 8;
}

std::int64_t pairs(const AttentionProblem& problem)
{
    return problem.shape.batch * problem.shape.queryHeads;
}

/// The arithmetic of delta. In TF32 gradO must be rounded as in the products, or its rounding error does not
/// cancel in dP - delta. The sum is in fp64, because delta is subtracted from numbers of similar size.
template <class Element> struct DeltaSum {
    using Sum = float;
    __device__ static Sum product(Element o, Element gradO)
    {
        return static_cast<float>(o) * static_cast<float>(gradO);
    }
};
template <> struct DeltaSum<float> {
    using Sum = double;
    __device__ static Sum product(float o, float gradO)
    {
        return Sum{o} * Sum{__uint_as_float(ptx::roundTf32(__float_as_uint(gradO)))};
    }
};

struct Rows {
    const unsigned char* data;
    std::int64_t batchStride, headStride, rowStride; // elements
};

struct PrepareArguments {
    Rows o, gradO;
    const float* logSumExp;
    const float* gradLogSumExp; ///< null for 0
    BackwardWorkspace workspace;
    int heads, rows, headDim, queryTiles;
    int blocks; ///< per head
};

/// Eight lanes per row, 16 bytes at a time; 32 rows per block.
template <class Element> __global__ void prepare(PrepareArguments arguments)
{
    launchDependents();
    const int pair = blockIdx.x / arguments.blocks;
    const int block = blockIdx.x % arguments.blocks;
    const int batch = pair / arguments.heads;
    const int head = pair % arguments.heads;
    const int row = block * 32 + threadIdx.x / 8;
    const int lane = threadIdx.x % 8;
    const auto rowOf = [&](const Rows& rows) {
        return reinterpret_cast<const Element*>(rows.data) + batch * rows.batchStride +
               head * rows.headStride + row * rows.rowStride;
    };
    using Delta = DeltaSum<Element>;
    typename Delta::Sum sum = 0;
    if (row < arguments.rows) {
        const Element* o = rowOf(arguments.o);
        const Element* gradO = rowOf(arguments.gradO);
        constexpr int kCount = 16 / sizeof(Element);
        for (int column = lane * kCount; column < arguments.headDim; column += 8 * kCount) {
            const uint4 a = *reinterpret_cast<const uint4*>(o + column);
            const uint4 b = *reinterpret_cast<const uint4*>(gradO + column);
#pragma unroll
            for (int i = 0; i < kCount; ++i)
                sum += Delta::product(reinterpret_cast<const Element*>(&a)[i],
                                      reinterpret_cast<const Element*>(&b)[i]);
        }
    }
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0U, sum, distance);
    const std::int64_t padded = std::int64_t{pair} * arguments.workspace.paddedRows + row;
    if (lane == 0 && row < arguments.workspace.paddedRows) {
        constexpr float kLog2E = 1.4426950408889634f;
        const std::int64_t at = std::int64_t{pair} * arguments.rows + row;
        const float lse = row < arguments.rows ? arguments.logSumExp[at] : -INFINITY;
        if (arguments.gradLogSumExp && row < arguments.rows)
            sum -= typename Delta::Sum(arguments.gradLogSumExp[at]);
        arguments.workspace.delta[padded] = static_cast<float>(sum);
        arguments.workspace.logSumExp2[padded] = lse == -INFINITY ? INFINITY : lse * kLog2E;
    }
    // This block's share of the head's sums.
    const std::int64_t floats = std::int64_t{arguments.workspace.paddedRows} * arguments.workspace.columns;
    const std::int64_t share = (floats / 4 + arguments.blocks - 1) / arguments.blocks;
    auto* sums = reinterpret_cast<float4*>(arguments.workspace.gradQuery + pair * floats);
    const std::int64_t end = min((block + 1) * share, floats / 4);
    for (std::int64_t i = block * share + threadIdx.x; i < end; i += blockDim.x)
        sums[i] = make_float4(0, 0, 0, 0);
    if (arguments.workspace.semaphores && block == 0)
        for (int tile = threadIdx.x; tile < arguments.queryTiles; tile += blockDim.x)
            arguments.workspace.semaphores[pair * arguments.queryTiles + tile] = 0;
}

struct FinishArguments {
    unsigned char* gradQ;
    std::int64_t batchStride, headStride, rowStride;
    const float* sums;
    float scale;
    int heads, rows, headDim, columns, tileRows, queryTiles;
};

/// Transposes 4 x 4 words of four lanes: before, each lane holds one word of each of four chunks; afterwards
/// lane t holds chunk t.
__device__ inline void transposeWords(std::uint32_t (&words)[4])
{
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2) {
        const bool upper = threadIdx.x & bit;
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
            std::uint32_t& low = words[bit == 1 ? 2 * pair : pair];
            std::uint32_t& high = words[bit == 1 ? 2 * pair + 1 : pair + 2];
            const std::uint32_t got = __shfl_xor_sync(~0U, upper ? low : high, bit);
            (upper ? low : high) = got;
        }
    }
}

/// One block per piece, in accumulator order (wgmma.h). For 2-byte elements the four lanes of a row exchange
/// words, so that each writes 16 contiguous bytes. For fp32 each writes 8 bytes.
template <class Element> __global__ void __launch_bounds__(128) finish(FinishArguments arguments)
{
    const int columns = arguments.columns;
    const int pieces = GradQueryPiece::count(columns, arguments.tileRows);
    const int tile = blockIdx.x / pieces % arguments.queryTiles;
    const int pair = blockIdx.x / pieces / arguments.queryTiles;
    const GradQueryPiece piece = GradQueryPiece::of(blockIdx.x % pieces, columns, arguments.tileRows);
    const std::int64_t tileRows = arguments.tileRows;
    const auto* sums = reinterpret_cast<const float4*>(
        arguments.sums + (std::int64_t{pair} * arguments.queryTiles + tile) * tileRows * columns +
        piece.offset(columns));
    constexpr int kChunks = 8; // of 8 columns
    float4 mine[kChunks];      // row r: x, y; row r + 8: z, w
    waitForPreviousKernel();
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk)
        if (chunk * 8 < piece.columns)
            mine[chunk] = __ldcs(sums + chunk * 128 + threadIdx.x);
    const int lane = threadIdx.x % 32;
    const float scale = arguments.scale;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row =
            tile * static_cast<int>(tileRows) + piece.firstRow + threadIdx.x / 32 * 16 + lane / 4 + 8 * half;
        Element* out =
            reinterpret_cast<Element*>(arguments.gradQ) + pair / arguments.heads * arguments.batchStride +
            pair % arguments.heads * arguments.headStride + row * arguments.rowStride + piece.firstColumn;
        const auto sumsOf = [&](int chunk) {
            const float4& both = mine[chunk];
            return make_float2((half ? both.z : both.x) * scale, (half ? both.w : both.y) * scale);
        };
        if constexpr (std::is_same_v<Element, float>) {
#pragma unroll
            for (int chunk = 0; chunk < kChunks; ++chunk) {
                const int column = chunk * 8 + lane % 4 * 2;
                if (row < arguments.rows && piece.firstColumn + column < arguments.headDim)
                    *reinterpret_cast<float2*>(out + column) = sumsOf(chunk);
            }
        } else {
#pragma unroll
            for (int group = 0; group < kChunks; group += 4) {
                if (group * 8 >= piece.columns)
                    continue;
                std::uint32_t words[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float2 two = sumsOf(group + i);
                    words[i] = pack<Element>(two.x, two.y);
                }
                transposeWords(words);
                const int column = (group + lane % 4) * 8;
                if (row < arguments.rows && column < piece.columns)
                    *reinterpret_cast<uint4*>(out + column) =
                        make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
    }
}

Rows rowsOf(const ConstView& view)
{
    return {static_cast<const unsigned char*>(view.data), view.batchStride, view.headStride, view.rowStride};
}

} // namespace

std::size_t BackwardWorkspace::bytes(const AttentionProblem& problem)
{
    const std::size_t rows = pairs(problem) * paddedRowsOf(problem);
    return rows * columnsOf(problem) * sizeof(float) + 2 * rows * sizeof(float) +
           (problem.deterministic ? pairs(problem) * queryTilesOf(problem) * sizeof(unsigned) : 0);
}

BackwardWorkspace BackwardWorkspace::at(void* memory, const AttentionProblem& problem)
{
    const std::size_t rows = pairs(problem) * paddedRowsOf(problem);
    auto* gradQuery = static_cast<float*>(memory);
    float* logSumExp2 = gradQuery + rows * columnsOf(problem);
    float* delta = logSumExp2 + rows;
    return {gradQuery,
            logSumExp2,
            delta,
            problem.deterministic ? reinterpret_cast<unsigned*>(delta + rows) : nullptr,
            static_cast<int>(paddedRowsOf(problem)),
            columnsOf(problem)};
}

cudaError_t prepareBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                            const BackwardWorkspace& workspace, cudaStream_t stream)
{
    const AttentionShape& shape = problem.shape;
    const PrepareArguments arguments{rowsOf(tensors.o),
                                     rowsOf(tensors.gradO),
                                     static_cast<const float*>(tensors.logSumExp),
                                     static_cast<const float*>(tensors.gradLogSumExp),
                                     workspace,
                                     static_cast<int>(shape.queryHeads),
                                     static_cast<int>(shape.queries),
                                     shape.headDim,
                                     queryTilesOf(problem),
                                     (workspace.paddedRows + 31) / 32};
    const auto grid = static_cast<unsigned>(pairs(problem) * arguments.blocks);
    const auto kernel = problem.type == ElementType::BFloat16  ? prepare<__nv_bfloat16>
                        : problem.type == ElementType::Float16 ? prepare<__half>
                                                               : prepare<float>;
    kernel<<<grid, 256, 0, stream>>>(arguments);
    return cudaGetLastError();
}

cudaError_t finishBackward(const AttentionProblem& problem, const BackwardTensors& tensors,
                           const BackwardWorkspace& workspace, cudaStream_t stream)
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
                                    columnsOf(problem),
                                    static_cast<int>(tileRowsOf(problem)),
                                    queryTilesOf(problem)};
    const auto grid = static_cast<unsigned>(pairs(problem) * arguments.queryTiles *
                                            GradQueryPiece::count(arguments.columns, arguments.tileRows));
    const auto kernel = problem.type == ElementType::BFloat16  ? finish<__nv_bfloat16>
                        : problem.type == ElementType::Float16 ? finish<__half>
                                                               : finish<float>;
    return launchOverlapping(kernel, grid, 128, 0, stream, arguments);
}

} // namespace tilescope::kernels::hopper
