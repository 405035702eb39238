// Addition to the residual stream and RMSNorm, forward and backward.
//
// Bound by memory. Per element of bf16, forward reads x (4 bytes) and addend (2) and writes sum (4) and y (2);
// backward reads gradY (2), x (4) and gradResidual (4) and writes gradX (4) and its rounded copy (2): 12 and
// 16 bytes, 15.7 and 21 MB for 512 rows of 2560. The separate kernels that they replace move 38 and 93.
//
// A block has one row at a time in registers, kVectors vectors per thread, so that no row is read twice.
#include "kernels/cuda/common/overlap.h"
#include "kernels/cuda/lm/elements.cuh"

#include <algorithm>

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kVectors = 2;
constexpr int kRowThreads = 512; // 128 registers each; with 1024 threads backward spills
static_assert(kMaxNormWidth == kVectors * kVector * kRowThreads);

/// The column of a thread's vector.
__device__ std::int64_t columnOf(int vector)
{
    return (std::int64_t{vector} * blockDim.x + threadIdx.x) * kVector;
}

/// Enough whole warps for a row.
unsigned threadsFor(std::int64_t width)
{
    const std::int64_t vectors = (width + kVector - 1) / kVector;
    const std::int64_t threads = (vectors + kVectors - 1) / kVectors;
    return static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp);
}

template <class T> __global__ void __launch_bounds__(kRowThreads) addRmsNormKernel(AddRmsNorm norm)
{
    __shared__ float scratch[kMaxWarps];
    ptx::waitForKernelBefore();
    ptx::letNextKernelBegin();
    const std::int64_t begin = std::int64_t{blockIdx.x} * norm.width;
    const auto* x = static_cast<const float*>(norm.x) + begin;
    const auto* addend = norm.addend ? static_cast<const T*>(norm.addend) + begin : nullptr;
    float values[kVectors][kVector];
    float squares = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const std::int64_t column = columnOf(v);
        if (column >= norm.width)
            continue;
        load(values[v], x + column);
        if (addend) {
            float added[kVector];
            load(added, addend + column);
#pragma unroll
            for (int i = 0; i < kVector; ++i)
                values[v][i] += added[i];
            store(static_cast<float*>(norm.sum) + begin + column, values[v]);
        }
#pragma unroll
        for (int i = 0; i < kVector; ++i)
            squares += values[v][i] * values[v][i];
    }
    const float mean = combineBlock(squares, 0, scratch, Add{}) / static_cast<float>(norm.width);
    const float reciprocal = rsqrtf(mean + static_cast<float>(norm.epsilon));
    if (threadIdx.x == 0)
        static_cast<float*>(norm.reciprocalRms)[blockIdx.x] = reciprocal;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const std::int64_t column = columnOf(v);
        if (column >= norm.width)
            continue;
        float weight[kVector];
        load(weight, static_cast<const float*>(norm.weight) + column);
#pragma unroll
        for (int i = 0; i < kVector; ++i)
            values[v][i] *= reciprocal * weight[i];
        store(static_cast<T*>(norm.y) + begin + column, values[v]);
    }
}

// With n = x r and g = gradY w: gradX = r (g - n mean(g n)). A block keeps the gradient of the weight of its rows
// in registers.
template <class T> __global__ void __launch_bounds__(kRowThreads) rmsNormBackwardKernel(RmsNormBackward norm)
{
    __shared__ float scratch[kMaxWarps];
    const auto* weights = static_cast<const float*>(norm.weight);
    float part[kVectors][kVector] = {};
    for (std::int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const std::int64_t begin = row * norm.width;
        const float reciprocal = static_cast<const float*>(norm.reciprocalRms)[row];
        float normed[kVectors][kVector];
        float gradient[kVectors][kVector];
        float residual[kVectors][kVector] = {};
        float product = 0;
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            const std::int64_t column = columnOf(v);
            if (column >= norm.width)
                continue;
            float weight[kVector];
            load(normed[v], static_cast<const float*>(norm.x) + begin + column);
            load(gradient[v], static_cast<const T*>(norm.gradY) + begin + column);
            load(weight, weights + column);
            // Before the sum over the row, to wait for memory once per row.
            if (norm.gradResidual)
                load(residual[v], static_cast<const float*>(norm.gradResidual) + begin + column);
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                normed[v][i] *= reciprocal;
                part[v][i] += gradient[v][i] * normed[v][i];
                gradient[v][i] *= weight[i];
                product += gradient[v][i] * normed[v][i];
            }
        }
        const float mean = combineBlock(product, 0, scratch, Add{}) / static_cast<float>(norm.width);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            const std::int64_t column = columnOf(v);
            if (column >= norm.width)
                continue;
#pragma unroll
            for (int i = 0; i < kVector; ++i)
                residual[v][i] += reciprocal * (gradient[v][i] - normed[v][i] * mean);
            store(static_cast<float*>(norm.gradX) + begin + column, residual[v]);
            store(static_cast<T*>(norm.gradXRounded) + begin + column, residual[v]);
        }
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
        if (const std::int64_t column = columnOf(v); column < norm.width)
            store(static_cast<float*>(norm.weightParts) + blockIdx.x * norm.width + column, part[v]);
}

// A block sums kWarp columns; the threads of a column each sum some of the parts.
constexpr int kSumRows = 32;

__global__ void __launch_bounds__(kWarp* kSumRows) sumPartsKernel(SumParts sum)
{
    __shared__ float sums[kSumRows][kWarp + 1];
    const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + threadIdx.x;
    float total = 0;
    if (column < sum.width) {
#pragma unroll 4
        for (std::int64_t part = threadIdx.y; part < sum.parts; part += kSumRows)
            total += static_cast<const float*>(sum.x)[part * sum.width + column];
    }
    sums[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y != 0 || column >= sum.width)
        return;
    total = 0;
#pragma unroll
    for (int row = 0; row < kSumRows; ++row)
        total += sums[row][threadIdx.x];
    static_cast<float*>(sum.sum)[column] = total;
}

} // namespace

void addRmsNormCuda(ElementType type, const AddRmsNorm& norm, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        launchOverlapping(addRmsNormKernel<T>, static_cast<unsigned>(norm.rows), threadsFor(norm.width), 0,
                          stream, norm);
    });
    requireLaunched("add_rms_norm");
}

// Two rows per block where there are few, so that the parts stay small beside the rows; with many rows, as many
// blocks as keep the multiprocessors busy.
std::int64_t rmsNormParts(std::int64_t rows)
{
    constexpr std::int64_t kBlocksEach = 4;
    const std::int64_t most = kBlocksEach * std::max(1, currentDeviceProperties().multiprocessors);
    return std::clamp<std::int64_t>((rows + 1) / 2, 1, most);
}

void rmsNormBackwardCuda(ElementType type, const RmsNormBackward& norm, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        rmsNormBackwardKernel<T>
            <<<static_cast<unsigned>(norm.parts), threadsFor(norm.width), 0, stream>>>(norm);
    });
    requireLaunched("rms_norm_backward");
}

void sumPartsCuda(const SumParts& sum, CudaStream stream)
{
    const auto blocks = static_cast<unsigned>((sum.width + kWarp - 1) / kWarp);
    sumPartsKernel<<<blocks, dim3(kWarp, kSumRows), 0, stream>>>(sum);
    requireLaunched("sum_parts_");
}

} // namespace tilescope::kernels
