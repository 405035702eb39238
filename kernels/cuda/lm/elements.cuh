#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/include/lm.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cfloat>
#include <stdexcept>
#include <string>
#include <type_traits>

/// Vectors of kLmVector elements, sums over a thread block and launches, for the kernels of the language model.
namespace tilescope::kernels::lm {

using Bf16 = __nv_bfloat16;

constexpr int kVector = static_cast<int>(kLmVector);
constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
constexpr int kMaxWarps = kMaxThreads / kWarp;

/// 16-byte loads: one of bf16, two of fp32.
__device__ inline void load(float (&values)[kVector], const Bf16* from)
{
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    const unsigned words[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < kVector / 2; ++i) {
        values[2 * i] = __uint_as_float(words[i] << 16);
        values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000U);
    }
}
__device__ inline void load(float (&values)[kVector], const float* from)
{
    const float4 low = reinterpret_cast<const float4*>(from)[0];
    const float4 high = reinterpret_cast<const float4*>(from)[1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}
__device__ inline void store(Bf16* to, const float (&values)[kVector])
{
    __nv_bfloat162 pairs[kVector / 2];
#pragma unroll
    for (int i = 0; i < kVector / 2; ++i)
        pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(pairs);
}
__device__ inline void store(float* to, const float (&values)[kVector])
{
    reinterpret_cast<float4*>(to)[0] = make_float4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<float4*>(to)[1] = make_float4(values[4], values[5], values[6], values[7]);
}

__device__ inline float number(Bf16 value)
{
    return __bfloat162float(value);
}
__device__ inline float number(float value)
{
    return value;
}
__device__ inline void put(Bf16& target, float value)
{
    target = __float2bfloat16_rn(value);
}
__device__ inline void put(float& target, float value)
{
    target = value;
}

/// The fast exponential has an error of |x| 2^-24, which bf16 does not see.
template <class T> __device__ inline float exponential(float x)
{
    if constexpr (std::is_same_v<T, Bf16>)
        return __expf(x);
    else
        return expf(x);
}

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The values of all threads combined, in a fixed order; every thread gets the result. Whole warps. Another call
/// with the same `scratch` may follow at once.
template <class Combine>
__device__ inline float combineBlock(float value, float neutral, float (&scratch)[kMaxWarps],
                                     const Combine& combine)
{
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(~0U, value, offset));
    __syncthreads();
    if (threadIdx.x % kWarp == 0)
        scratch[threadIdx.x / kWarp] = value;
    __syncthreads();
    const unsigned lane = threadIdx.x % kWarp;
    value = lane < blockDim.x / kWarp ? scratch[lane] : neutral;
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(~0U, value, offset));
    return value;
}

/// Calls work(T{}) for elements of that type.
template <class Work> void dispatch(ElementType type, const Work& work)
{
    if (type == ElementType::BFloat16)
        return work(Bf16{});
    if (type == ElementType::Float32)
        return work(float{});
    throw std::runtime_error("the CUDA kernels of the language model take bf16 and fp32");
}

inline void requireLaunched(const char* kernel)
{
    if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
        throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(status));
}

} // namespace tilescope::kernels::lm
