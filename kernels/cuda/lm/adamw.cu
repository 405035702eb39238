// AdamW for many tensors in one launch.
//
// Bound by memory: per weight it reads gradient, weight and two moments and writes all but the gradient, 28 bytes
// whether the weight is fp32 or bf16 with its remainder. 3.41e9 weights are 95 GB.
//
// A block updates kBlock consecutive weights of one tensor, 4 at a time per thread (16-byte accesses of fp32).
#include "kernels/cuda/lm/adamw_step.cuh"
#include "kernels/cuda/lm/elements.cuh"

#include <algorithm>

namespace tilescope::kernels {

namespace {

using namespace lm;

constexpr int kThreads = 256;
constexpr int kEach = 4;
constexpr int kRounds = 4;
constexpr std::int64_t kBlock = std::int64_t{kThreads} * kEach * kRounds;
constexpr int kTensors = 56; ///< tensors per launch: kernel parameters have at most 4 KB

struct Launch {
    AdamwTensor tensors[kTensors];
    unsigned firstBlock[kTensors];
    int count;
    AdamwStep step;
};
static_assert(sizeof(Launch) <= 4096);

/// A weight of type T and its fp32 value.
template <class T> struct Weight;
template <> struct Weight<float> {
    static __device__ float read(const AdamwTensor& tensor, std::int64_t i)
    {
        return static_cast<const float*>(tensor.weight)[i];
    }
    static __device__ void write(const AdamwTensor& tensor, std::int64_t i, float value)
    {
        static_cast<float*>(tensor.weight)[i] = value;
    }
    static __device__ float4 read4(const AdamwTensor& tensor, std::int64_t i)
    {
        return *reinterpret_cast<const float4*>(static_cast<const float*>(tensor.weight) + i);
    }
    static __device__ void write4(const AdamwTensor& tensor, std::int64_t i, float4 value)
    {
        *reinterpret_cast<float4*>(static_cast<float*>(tensor.weight) + i) = value;
    }
};
template <> struct Weight<Bf16> {
    static __device__ float read(const AdamwTensor& tensor, std::int64_t i)
    {
        return joined(static_cast<const unsigned short*>(tensor.weight)[i], tensor.remainder[i]);
    }
    static __device__ void write(const AdamwTensor& tensor, std::int64_t i, float value)
    {
        static_cast<unsigned short*>(tensor.weight)[i] = highOf(value);
        tensor.remainder[i] = lowOf(value);
    }
    static __device__ float4 read4(const AdamwTensor& tensor, std::int64_t i)
    {
        const ushort4 high =
            *reinterpret_cast<const ushort4*>(static_cast<const unsigned short*>(tensor.weight) + i);
        const short4 low = *reinterpret_cast<const short4*>(tensor.remainder + i);
        return make_float4(joined(high.x, low.x), joined(high.y, low.y), joined(high.z, low.z),
                           joined(high.w, low.w));
    }
    static __device__ void write4(const AdamwTensor& tensor, std::int64_t i, float4 value)
    {
        *reinterpret_cast<ushort4*>(static_cast<unsigned short*>(tensor.weight) + i) =
            make_ushort4(highOf(value.x), highOf(value.y), highOf(value.z), highOf(value.w));
        *reinterpret_cast<short4*>(tensor.remainder + i) =
            make_short4(lowOf(value.x), lowOf(value.y), lowOf(value.z), lowOf(value.w));
    }
};

__device__ float4& quad(void* base, std::int64_t i)
{
    return *reinterpret_cast<float4*>(static_cast<float*>(base) + i);
}

template <class T>
__device__ void updateFour(const Launch& launch, const AdamwCorrection& correction, const AdamwTensor& tensor,
                           std::int64_t i)
{
    float4 weight = Weight<T>::read4(tensor, i);
    const float4 gradient = *reinterpret_cast<const float4*>(static_cast<const float*>(tensor.gradient) + i);
    float4 first = quad(tensor.firstMoment, i);
    float4 second = quad(tensor.secondMoment, i);
    weight.x = updated(launch.step, correction, weight.x, gradient.x, first.x, second.x);
    weight.y = updated(launch.step, correction, weight.y, gradient.y, first.y, second.y);
    weight.z = updated(launch.step, correction, weight.z, gradient.z, first.z, second.z);
    weight.w = updated(launch.step, correction, weight.w, gradient.w, first.w, second.w);
    Weight<T>::write4(tensor, i, weight);
    quad(tensor.firstMoment, i) = first;
    quad(tensor.secondMoment, i) = second;
}

template <class T>
__device__ void updateOne(const Launch& launch, const AdamwCorrection& correction, const AdamwTensor& tensor,
                          std::int64_t i)
{
    float& first = static_cast<float*>(tensor.firstMoment)[i];
    float& second = static_cast<float*>(tensor.secondMoment)[i];
    const float gradient = static_cast<const float*>(tensor.gradient)[i];
    const float weight = Weight<T>::read(tensor, i);
    Weight<T>::write(tensor, i, updated(launch.step, correction, weight, gradient, first, second));
}

template <class T>
__global__ void __launch_bounds__(kThreads) adamwKernel(const __grid_constant__ Launch launch)
{
    __shared__ AdamwCorrection shared;
    if (threadIdx.x == 0)
        shared = correctionOf(launch.step);
    int index = 0;
    while (index + 1 < launch.count && launch.firstBlock[index + 1] <= blockIdx.x)
        ++index;
    const AdamwTensor& tensor = launch.tensors[index];
    const std::int64_t begin = std::int64_t{blockIdx.x - launch.firstBlock[index]} * kBlock;
    __syncthreads();
    const AdamwCorrection correction = shared;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
        const std::int64_t i = begin + (std::int64_t{round} * kThreads + threadIdx.x) * kEach;
        if (i + kEach <= tensor.count) {
            updateFour<T>(launch, correction, tensor, i);
        } else {
            for (std::int64_t j = i; j < tensor.count; ++j)
                updateOne<T>(launch, correction, tensor, j);
        }
    }
}

template <class T> void launchGroup(Launch& launch, std::span<const AdamwTensor> tensors, CudaStream stream)
{
    unsigned blocks = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        launch.tensors[i] = tensors[i];
        launch.firstBlock[i] = blocks;
        blocks += static_cast<unsigned>((tensors[i].count + kBlock - 1) / kBlock);
    }
    launch.count = static_cast<int>(tensors.size());
    adamwKernel<T><<<blocks, kThreads, 0, stream>>>(launch);
}

} // namespace

void adamwCuda(ElementType type, std::span<const AdamwTensor> tensors, const AdamwOptions& options,
               const float* step, CudaStream stream)
{
    Launch launch{.step = adamwStep(options, step)};
    dispatch(type, [&]<class T>(T) {
        for (std::size_t begin = 0; begin < tensors.size(); begin += kTensors)
            launchGroup<T>(launch,
                           tensors.subspan(begin, std::min<std::size_t>(kTensors, tensors.size() - begin)),
                           stream);
    });
    requireLaunched("adamw_");
}

} // namespace tilescope::kernels
