#pragma once

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/decode/kernel.cuh"

#include <utility>

namespace tilescope::kernels {

template <class Precision, int kHeadDim, int kRowGroups, int kStages, DecodeCtas kCtas>
__global__ void __launch_bounds__(decodeWarps(kCtas) * 32, kCtas == DecodeCtas::Two ? 2 : 1)
    attentionDecode(const __grid_constant__ DecodeParameters parameters)
{
    extern __shared__ __align__(128) std::byte shared[];
    DecodeKernel<Precision, kHeadDim, kRowGroups, kStages, kCtas>{parameters, {}, shared}.run();
}

template <class Precision, int kHeadDim, int kRowGroups, int kStages, DecodeCtas kCtas = DecodeCtas::Two>
cudaError_t launchDecodeTile(const DecodeParameters& parameters, cudaStream_t stream)
{
    using Kernel = DecodeKernel<Precision, kHeadDim, kRowGroups, kStages, kCtas>;
    constexpr auto kKernel = attentionDecode<Precision, kHeadDim, kRowGroups, kStages, kCtas>;
    if (const cudaError_t status = allowSharedMemory<kKernel>(Kernel::kSharedBytes); status != cudaSuccess) {
        return status;
    }
    return launchOverlapping(kKernel, static_cast<unsigned>(parameters.split.ctas), Kernel::kThreads,
                             Kernel::kSharedBytes, stream, parameters);
}

template <class Precision, int kHeadDim, int kRowGroups>
cudaError_t launchDecodeRows(const DecodeParameters& parameters, cudaStream_t stream)
{
    static_assert(DecodeKernel<Precision, kHeadDim, kRowGroups, 2>::kSharedBytes <= kMinSharedBytes);
#ifndef TILESCOPE_SMALL_KERNEL_SET
    // As many stages as fit twice, or once for the wide CTA, in a Hopper multiprocessor; on other devices two.
    constexpr int kStages = 3;
    if constexpr (kRowGroups * 16 <= kMostWideRows) {
        static_assert(
            DecodeKernel<Precision, kHeadDim, kRowGroups, kStages, DecodeCtas::OneWide>::kSharedBytes <=
            kSharedBytesOfHopper);
        if (parameters.ctas == DecodeCtas::OneWide) {
            return launchDecodeTile<Precision, kHeadDim, kRowGroups, kStages, DecodeCtas::OneWide>(parameters,
                                                                                                   stream);
        }
    }
    if (currentDeviceProperties().sharedMemoryBytes >= kSharedBytesOfHopper) {
        return launchDecodeTile<Precision, kHeadDim, kRowGroups, kStages>(parameters, stream);
    }
#endif
    return launchDecodeTile<Precision, kHeadDim, kRowGroups, 2>(parameters, stream);
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

/// The launchers of a precision, by head dim.
template <class Precision> constexpr DecodeLaunchers decodeLaunchers()
{
    return []<std::size_t... kIndex>(std::index_sequence<kIndex...>)
    {
        return DecodeLaunchers{&launchDecode<Precision, kDecodeHeadDims[kIndex]>...};
    }
    (std::make_index_sequence<std::size(kDecodeHeadDims)>());
}

} // namespace tilescope::kernels
