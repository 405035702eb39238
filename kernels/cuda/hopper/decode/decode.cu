// Decode with keys and values by TMA.
#include "kernels/cuda/hopper/decode/boxes.h"
#include "kernels/cuda/hopper/decode/decode.h"

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/decode/kernel.cuh"
#include "kernels/cuda/hopper/common/tensor_map.h"

namespace tilescope::kernels::hopper {

namespace {

constexpr int kStages = 3;

template <class Precision, int kHeadDim, int kRowGroups, DecodeCtas kCtas>
__global__ void __launch_bounds__(decodeWarps(kCtas) * 32, kCtas == DecodeCtas::Two ? 2 : 1)
    attentionDecodeBoxes(const __grid_constant__ DecodeParameters parameters,
                         const __grid_constant__ DecodeMaps maps)
{
    extern __shared__ __align__(1024) std::byte shared[];
    DecodeKernel<Precision, kHeadDim, kRowGroups, kStages, kCtas, DecodeBoxes>{parameters, maps, shared}
        .run();
}

template <class Precision, int kHeadDim, int kRowGroups, DecodeCtas kCtas>
cudaError_t launchTile(const DecodeParameters& parameters, ElementType type, cudaStream_t stream)
{
    using Kernel = DecodeKernel<Precision, kHeadDim, kRowGroups, kStages, kCtas, DecodeBoxes>;
    constexpr auto kKernel = attentionDecodeBoxes<Precision, kHeadDim, kRowGroups, kCtas>;
    constexpr int kReserved = 1024; // of each CTA
    static_assert((Kernel::kSharedBytes + kReserved) * (kCtas == DecodeCtas::Two ? 2 : 1) <=
                  kSharedBytesOfHopper + kReserved);
    if (const cudaError_t status = allowSharedMemory<kKernel>(Kernel::kSharedBytes); status != cudaSuccess) {
        return status;
    }
    const KernelShape& shape = parameters.shape;
    const auto map = [&](const ConstView& view) {
        return tensorMap(type, const_cast<void*>(view.data), shape.headDim, shape.keys, shape.keyHeads,
                         shape.batch, view.rowStride, view.headStride, view.batchStride, Kernel::kTileKeys, 1,
                         Delivery::Unchanged, L2Promotion::Bytes128);
    };
    return launchOverlapping(kKernel, static_cast<unsigned>(parameters.split.ctas), Kernel::kThreads,
                             Kernel::kSharedBytes, stream, parameters,
                             DecodeMaps{map(parameters.k), map(parameters.v)});
}

template <class Precision, int kHeadDim>
cudaError_t launch(const DecodeParameters& parameters, ElementType type, cudaStream_t stream)
{
    const int rows = parameters.shape.queries * parameters.shape.group();
    if (parameters.ctas == DecodeCtas::OneWide) {
        return launchTile<Precision, kHeadDim, 1, DecodeCtas::OneWide>(parameters, type, stream);
    }
    if (rows <= 16) {
        return launchTile<Precision, kHeadDim, 1, DecodeCtas::Two>(parameters, type, stream);
    }
    return rows <= 32 ? launchTile<Precision, kHeadDim, 2, DecodeCtas::Two>(parameters, type, stream)
                      : launchTile<Precision, kHeadDim, 4, DecodeCtas::Two>(parameters, type, stream);
}

template <class Precision>
cudaError_t launchHeadDim(const DecodeParameters& parameters, ElementType type, cudaStream_t stream)
{
    return parameters.shape.headDim <= kDecodeHeadDims[0]
               ? launch<Precision, kDecodeHeadDims[0]>(parameters, type, stream)
               : launch<Precision, kDecodeHeadDims[1]>(parameters, type, stream);
}

} // namespace

cudaError_t decodeByBoxes(const DecodeParameters& parameters, ElementType type, cudaStream_t stream)
{
    if (parameters.paged.pages || !mappable(parameters.k) || !mappable(parameters.v)) {
        return cudaErrorNotSupported;
    }
    return type == ElementType::BFloat16 ? launchHeadDim<Bf16>(parameters, type, stream)
                                         : launchHeadDim<Fp16>(parameters, type, stream);
}

} // namespace tilescope::kernels::hopper
