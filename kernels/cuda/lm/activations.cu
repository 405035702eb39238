// The rotary embedding in place, SwiGLU forward and backward, and fp32 values as sums of bf16 numbers.
//
// Bound by memory, one thread per vector. Per element of bf16: the rotation reads and writes 2 bytes of q and k
// (its table stays in L2); SwiGLU reads 4 and writes 2 per element of y; backward reads 6 and writes 6, and so
// needs neither silu nor y to be stored. A split reads 4 bytes and writes 2 per copy.
#include "kernels/cuda/common/overlap.h"
#include "kernels/cuda/lm/elements.cuh"

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kThreads = 128;

/// One block per row and kThreads vectors of it.
dim3 gridOf(std::int64_t rows, std::int64_t width)
{
    const std::int64_t vectors = width / kVector;
    return {static_cast<unsigned>(rows), static_cast<unsigned>((vectors + kThreads - 1) / kThreads)};
}

/// The column of a thread's vector.
__device__ std::int64_t columnOfThread()
{
    return (std::int64_t{blockIdx.y} * kThreads + threadIdx.x) * kVector;
}

template <class T> __global__ void __launch_bounds__(kThreads) rotateHeadsKernel(RotateHeads rotate)
{
    const std::int64_t row = blockIdx.x;
    const std::int64_t column = columnOfThread();
    if (column >= rotate.heads * rotate.headDim)
        return;
    T* x = static_cast<T*>(rotate.x) + row * rotate.width + column;
    const float* table = static_cast<const float*>(rotate.rotation) +
                         row % rotate.positions * rotate.headDim + column % rotate.headDim;
    float rotation[kVector];
    float values[kVector];
    load(rotation, table);
    load(values, x);
#pragma unroll
    for (int i = 0; i < kVector; i += 2) {
        const float cosine = rotation[i];
        const float sine = rotate.inverse ? -rotation[i + 1] : rotation[i + 1];
        const float a = values[i];
        const float b = values[i + 1];
        values[i] = a * cosine - b * sine;
        values[i + 1] = a * sine + b * cosine;
    }
    store(x, values);
}

template <class T> __device__ float sigmoid(float x)
{
    return 1 / (1 + exponential<T>(-x));
}

template <class T> __global__ void __launch_bounds__(kThreads) swiGluKernel(SwiGlu glu)
{
    ptx::waitForKernelBefore();
    ptx::letNextKernelBegin();
    const std::int64_t row = blockIdx.x;
    const std::int64_t column = columnOfThread();
    if (column >= glu.width)
        return;
    const T* x = static_cast<const T*>(glu.x) + 2 * row * glu.width + column;
    float gate[kVector];
    float up[kVector];
    load(gate, x);
    load(up, x + glu.width);
#pragma unroll
    for (int i = 0; i < kVector; ++i)
        gate[i] *= sigmoid<T>(gate[i]) * up[i];
    store(static_cast<T*>(glu.y) + row * glu.width + column, gate);
}

template <class T> __global__ void __launch_bounds__(kThreads) swiGluBackwardKernel(SwiGluBackward glu)
{
    const std::int64_t row = blockIdx.x;
    const std::int64_t column = columnOfThread();
    if (column >= glu.width)
        return;
    T* x = static_cast<T*>(glu.x) + 2 * row * glu.width + column;
    T* gradY = static_cast<T*>(glu.gradY) + row * glu.width + column;
    float gate[kVector];
    float up[kVector];
    float gradient[kVector];
    load(gate, x);
    load(up, x + glu.width);
    load(gradient, gradY);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
        const float s = sigmoid<T>(gate[i]);
        const float silu = gate[i] * s;
        const float gradSilu = gradient[i] * up[i];
        up[i] *= silu; // y
        gate[i] = gradSilu * s * (1 + gate[i] * (1 - s));
        gradient[i] *= silu;
    }
    store(gradY, up);
    store(x, gate);
    store(x + glu.width, gradient);
}

constexpr int kSplitThreads = 256;

/// One thread splits kValues neighbours of a row: kVector where the width is a multiple of it, otherwise one.
template <int kValues, int kCopies, bool kLeft>
__global__ void __launch_bounds__(kSplitThreads) splitBf16Kernel(SplitBf16 split)
{
    const unsigned vector = blockIdx.x * kSplitThreads + threadIdx.x; // of fewer than 2^32
    const std::int64_t begin = std::int64_t{vector} * kValues;
    const std::int64_t total = split.rows * split.width;
    if (begin >= total)
        return;
    float rest[kVector];
    if constexpr (kValues == kVector)
        load(rest, split.x + begin);
    else
        rest[0] = split.x[begin];
    alignas(16) Bf16 parts[3][kVector];
#pragma unroll
    for (int part = 0; part < 3; ++part)
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
            parts[part][i] = __float2bfloat16_rn(rest[i]);
            rest[i] -= __bfloat162float(parts[part][i]);
        }
    const std::int64_t row = vector / static_cast<unsigned>(split.width / kValues);
    const std::int64_t start = split.below ? begin : begin + row * (kCopies - 1) * split.width;
    const std::int64_t between = split.below ? total : split.width;
    Bf16* target = static_cast<Bf16*>(split.parts) + start;
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy, target += between) {
        const Bf16(&values)[kVector] = parts[SplitBf16::part(copy, kLeft)];
        if constexpr (kValues == kVector)
            *reinterpret_cast<uint4*>(target) = *reinterpret_cast<const uint4*>(values);
        else
            *target = values[0];
    }
}

template <int kValues, int kCopies, bool kLeft> void launchSplit(const SplitBf16& split, CudaStream stream)
{
    const std::int64_t threads = split.rows * split.width / kValues;
    const auto blocks = static_cast<unsigned>((threads + kSplitThreads - 1) / kSplitThreads);
    splitBf16Kernel<kValues, kCopies, kLeft><<<blocks, kSplitThreads, 0, stream>>>(split);
}

template <int kValues, int kCopies> void launchSplit(const SplitBf16& split, CudaStream stream)
{
    split.left ? launchSplit<kValues, kCopies, true>(split, stream)
               : launchSplit<kValues, kCopies, false>(split, stream);
}

template <int kValues> void launchSplit(const SplitBf16& split, CudaStream stream)
{
    split.copies == 3 ? launchSplit<kValues, 3>(split, stream) : launchSplit<kValues, 6>(split, stream);
}

} // namespace

void rotateHeadsCuda(ElementType type, const RotateHeads& rotate, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        rotateHeadsKernel<T>
            <<<gridOf(rotate.rows, rotate.heads * rotate.headDim), kThreads, 0, stream>>>(rotate);
    });
    requireLaunched("rotate_heads_");
}

void swiGluCuda(ElementType type, const SwiGlu& glu, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        launchOverlapping(swiGluKernel<T>, gridOf(glu.rows, glu.width), kThreads, 0, stream, glu);
    });
    requireLaunched("swiglu");
}

void swiGluBackwardCuda(ElementType type, const SwiGluBackward& glu, CudaStream stream)
{
    dispatch(type, [&]<class T>(T) {
        swiGluBackwardKernel<T><<<gridOf(glu.rows, glu.width), kThreads, 0, stream>>>(glu);
    });
    requireLaunched("swiglu_backward_");
}

void splitBf16Cuda(const SplitBf16& split, CudaStream stream)
{
    split.width % kVector == 0 ? launchSplit<kVector>(split, stream) : launchSplit<1>(split, stream);
    requireLaunched("split_bf16");
}

} // namespace tilescope::kernels
