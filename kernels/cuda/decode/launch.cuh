#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/decode/kernel.cuh"

namespace tilescope::kernels {

template <class Precision, int kHeadDim, int kRowGroups, int kStages>
__global__ void __launch_bounds__(DecodeKernel<Precision, kHeadDim, kRowGroups, kStages>::kThreads, 2)
    attentionDecode(const __grid_constant__ DecodeParameters parameters)
{
    extern __shared__ __align__(128) std::byte shared[];
    DecodeKernel<Precision, kHeadDim, kRowGroups, kStages>{parameters, shared}.run();
}

template <class Precision, int kHeadDim, int kRowGroups, int kStages>
cudaError_t launchDecodeTile(const DecodeParameters& parameters, cudaStream_t stream)
{
    using Kernel = DecodeKernel<Precision, kHeadDim, kRowGroups, kStages>;
    constexpr auto kKernel = attentionDecode<Precision, kHeadDim, kRowGroups, kStages>;
    if (const cudaError_t status = allowSharedMemory<kKernel>(Kernel::kSharedBytes); status != cudaSuccess) {
        return status;
    }
    kKernel<<<parameters.split.ctas, Kernel::kThreads, Kernel::kSharedBytes, stream>>>(parameters);
    return cudaGetLastError();
}

template <class Precision, int kHeadDim, int kRowGroups>
cudaError_t launchDecodeRows(const DecodeParameters& parameters, cudaStream_t stream)
{
    // As many as fit twice in a Hopper multiprocessor; on other devices two.
#ifdef TILESCOPE_SMALL_KERNEL_SET
    constexpr int kMostStages = 2;
#else
    constexpr int kMostStages = 3;
#endif
    constexpr int kSharedBytesOfHopper = 227 * 1024;
    static_assert(DecodeKernel<Precision, kHeadDim, kRowGroups, 2>::kSharedBytes <= kMinSharedBytes);
    return currentDeviceProperties().sharedMemoryBytes >= kSharedBytesOfHopper
               ? launchDecodeTile<Precision, kHeadDim, kRowGroups, kMostStages>(parameters, stream)
               : launchDecodeTile<Precision, kHeadDim, kRowGroups, 2>(parameters, stream);
}

template <class Precision, int kHeadDim>
cudaError_t launchDecode(const DecodeParameters& parameters, cudaStream_t stream)
{
    const int rows = parameters.shape.queries * parameters.shape.group();
    if (rows <= 16) {
        return launchDecodeRows<Precision, kHeadDim, 1>(parameters, stream);
    }
    return rows <= 32 ? launchDecodeRows<Precision, kHeadDim, 2>(parameters, stream)
                      : launchDecodeRows<Precision, kHeadDim, 4>(parameters, stream);
}

} // namespace tilescope::kernels
