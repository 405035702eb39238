#pragma once

#include "kernels/cuda/mma/parameters.h"

#include <type_traits>

namespace tilescope::kernels {

/// The passes before and after backward's products. They are bound by memory and access at least 8 bytes per
/// lane.

template <class Element, int kCount> struct alignas(sizeof(Element) * kCount) Pack {
    Element values[kCount];
};

/// Computes delta = rowsum(gradO * o) - gradLogSumExp and zeroes the sums of the queries' gradient. One warp
/// per row.
///
/// For fp32 the sum is in fp64, because delta is subtracted from numbers of similar size.
template <class Precision>
__global__ void __launch_bounds__(256) deltaKernel(const __grid_constant__ BackwardParameters p)
{
    using Element = typename Precision::Element;
    using Sum = std::conditional_t<std::is_same_v<Element, float>, double, float>;
    constexpr int kCount = 4;
    using Values = Pack<Element, kCount>;
    const std::int64_t row = std::int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    const KernelShape& shape = p.shape;
    if (row >= std::int64_t(shape.batch) * shape.queryHeads * shape.queries) {
        return;
    }
    const int query = static_cast<int>(row % shape.queries);
    const int head = static_cast<int>(row / shape.queries % shape.queryHeads);
    const int batch = static_cast<int>(row / shape.queries / shape.queryHeads);
    const Element* o = headOf<Element>(p.o, batch, head) + query * p.o.rowStride;
    const Element* gradO = headOf<Element>(p.gradO, batch, head) + query * p.gradO.rowStride;
    float* gradQSum = p.gradQSum + row * shape.headDim;
    Sum sum = 0;
    for (int column = threadIdx.x % 32 * kCount; column < shape.headDim; column += 32 * kCount) {
        const auto a = *reinterpret_cast<const Values*>(o + column);
        const auto b = *reinterpret_cast<const Values*>(gradO + column);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            sum += Sum(float(a.values[i])) * Sum(Precision::rounded(float(b.values[i])));
        }
        *reinterpret_cast<float4*>(gradQSum + column) = make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (threadIdx.x % 32 == 0) {
        // A softmax over one key is constant. The kernel sets its dP to 0, so that no rounding error remains.
        const Sum ownSum = shape.mask().keysSeenBy(query) == 1 ? Sum(0) : sum;
        p.delta[row] = static_cast<float>(p.gradLogSumExp ? ownSum - Sum(p.gradLogSumExp[row]) : ownSum);
    }
}

/// Converts the sum of the queries' gradient to the element type and layout of the output.
template <class Element>
__global__ void __launch_bounds__(256) gradQKernel(const __grid_constant__ BackwardParameters p)
{
    constexpr int kCount = 4;
    const KernelShape& shape = p.shape;
    const int packs = shape.headDim / kCount;
    const std::int64_t index = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    const std::int64_t row = index / packs;
    if (row >= std::int64_t(shape.batch) * shape.queryHeads * shape.queries) {
        return;
    }
    const int column = static_cast<int>(index % packs) * kCount;
    const int query = static_cast<int>(row % shape.queries);
    const int head = static_cast<int>(row / shape.queries % shape.queryHeads);
    const int batch = static_cast<int>(row / shape.queries / shape.queryHeads);
    const float4 sum = *reinterpret_cast<const float4*>(p.gradQSum + row * shape.headDim + column);
    const Pack<Element, kCount> values{{Element(sum.x), Element(sum.y), Element(sum.z), Element(sum.w)}};
    *reinterpret_cast<Pack<Element, kCount>*>(headOf<Element>(p.gradQ, batch, head) +
                                              query * p.gradQ.rowStride + column) = values;
}

template <class Precision> void launchDelta(const BackwardParameters& p, cudaStream_t stream)
{
    const std::int64_t rows = std::int64_t(p.shape.batch) * p.shape.queryHeads * p.shape.queries;
    deltaKernel<Precision><<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(p);
}

template <class Element> void launchGradQ(const BackwardParameters& p, cudaStream_t stream)
{
    const std::int64_t rows = std::int64_t(p.shape.batch) * p.shape.queryHeads * p.shape.queries;
    const std::int64_t packs = rows * (p.shape.headDim / 4);
    gradQKernel<Element><<<static_cast<unsigned>((packs + 255) / 256), 256, 0, stream>>>(p);
}

} // namespace tilescope::kernels
