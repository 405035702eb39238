// Chooses and launches the CUDA kernel for a problem.
#include "kernels/cuda/common/device.h"
#include "kernels/cuda/decode/decode.h"
#include "kernels/cuda/hopper/backward/backward.h"
#include "kernels/cuda/hopper/common/tf32.h"
#include "kernels/cuda/hopper/decode/decode.h"
#include "kernels/cuda/hopper/forward/forward.h"
#include "kernels/cuda/mma/launchers.h"
#include "kernels/include/generation.h"
#include "kernels/include/kernel_set.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tilescope::kernels {

namespace {

std::string describe(const AttentionProblem& problem)
{
    static constexpr const char* kNames[] = {"fp32", "fp64", "fp16", "bf16"};
    std::string name = kNames[static_cast<int>(problem.type)];
    if (problem.type == ElementType::Float32 && problem.fp32 == Fp32Mode::Tf32) {
        name = "tf32";
    }
    return name + " with head dim " + std::to_string(problem.shape.headDim);
}

#ifdef TILESCOPE_SMALL_KERNEL_SET
constexpr bool kAllPrecisions = false;
#else
constexpr bool kAllPrecisions = true;
#endif
#ifdef TILESCOPE_NO_HOPPER_KERNELS
constexpr bool kHopperKernels = false;
#else
constexpr bool kHopperKernels = true;
#endif

/// The Hopper kernels require compute capability 9.0.
bool useHopper()
{
    return kHopperKernels && kernelChoice() == KernelChoice::Best &&
           currentDeviceProperties().computeMajor == 9;
}

PreferredDecode preferredDecode()
{
    if constexpr (kHopperKernels) {
        return useHopper() ? &hopper::decodeByBoxes : nullptr;
    }
    return nullptr;
}

/// The mma.sync launcher of the smallest sufficient head dim; null if this build has none.
template <class Launchers>
auto mmaLauncher(const AttentionProblem& problem, const Launchers* bf16, const Launchers* fp16,
                 const Launchers* tf32, const Launchers* fp32) -> typename Launchers::value_type
{
    const Launchers* chosen = nullptr;
    switch (problem.type) {
    case ElementType::BFloat16:
        chosen = bf16;
        break;
    case ElementType::Float16:
        chosen = fp16;
        break;
    case ElementType::Float32:
        chosen = problem.fp32 == Fp32Mode::Tf32 ? tf32 : fp32;
        break;
    case ElementType::Float64:
        break;
    }
    for (std::size_t i = 0; chosen && i < kMmaHeadDimCount; ++i) {
        if (kMmaHeadDims[i] >= problem.shape.headDim) {
            return (*chosen)[i];
        }
    }
    return nullptr;
}

ForwardLauncher mmaForward(const AttentionProblem& problem)
{
    if constexpr (kAllPrecisions) {
        return mmaLauncher(problem, &kMmaForwardBf16, &kMmaForwardFp16, &kMmaForwardTf32, &kMmaForwardFp32);
    } else {
        return mmaLauncher<MmaForwardLaunchers>(problem, &kMmaForwardBf16, nullptr, nullptr, nullptr);
    }
}

BackwardLauncher mmaBackward(const AttentionProblem& problem)
{
    if constexpr (kAllPrecisions) {
        return mmaLauncher(problem, &kMmaBackwardBf16, &kMmaBackwardFp16, &kMmaBackwardTf32,
                           &kMmaBackwardFp32);
    } else {
        return mmaLauncher<MmaBackwardLaunchers>(problem, &kMmaBackwardBf16, nullptr, nullptr, nullptr);
    }
}

template <class Launcher> Launcher required(Launcher launcher, const AttentionProblem& problem)
{
    if (!launcher) {
        throw std::runtime_error("tilescope::attention: this build has no CUDA kernel for " +
                                 describe(problem) +
                                 "; packaging/dev gui builds every kernel of this machine's GPU");
    }
    return launcher;
}

void check(cudaError_t status, const AttentionProblem& problem)
{
    if (status == cudaErrorNoKernelImageForDevice) {
        const DeviceProperties& device = currentDeviceProperties();
        throw std::runtime_error(
            "tilescope::attention: this build has no CUDA kernel for compute capability " +
            std::to_string(device.computeMajor) + "." + std::to_string(device.computeMinor) +
            "; build it on this machine, or with TILESCOPE_KERNEL_SET=all");
    }
    if (status != cudaSuccess) {
        throw std::runtime_error("tilescope::attention: CUDA could not start the kernel for " +
                                 describe(problem) + ": " + cudaGetErrorString(status));
    }
}

std::int64_t queryRows(const AttentionShape& shape)
{
    return shape.batch * shape.queryHeads * shape.queries;
}

/// At most one semaphore for every 16 queries and half of the head dim.
std::int64_t semaphoreCount(const AttentionProblem& problem)
{
    const AttentionShape& shape = problem.shape;
    return problem.deterministic ? 2 * shape.batch * shape.queryHeads * ((shape.queries + 15) / 16) : 0;
}

} // namespace

bool hasAllCudaKernels()
{
    return kAllPrecisions && (kHopperKernels || currentDeviceProperties().computeMajor != 9);
}

bool hasFp8AttentionKernel()
{
    return kHopperKernels && useHopper();
}

std::size_t cudaBackwardWorkspaceBytes(const AttentionProblem& problem)
{
    const std::int64_t rows = queryRows(problem.shape);
    const auto mma = static_cast<std::size_t>(rows * problem.shape.headDim + rows + semaphoreCount(problem)) *
                     sizeof(float);
    if constexpr (kHopperKernels) {
        // The choice of the kernel also depends on the tensors' strides, which are unknown here.
        if (useHopper() && (hopper::backwardSupportsProblem(problem) || hopper::supportsTf32(problem))) {
            return std::max(mma, hopper::backwardWorkspaceBytes(problem));
        }
    }
    return mma;
}

std::size_t cudaForwardWorkspaceBytes(const AttentionProblem& problem)
{
    return decodeSupports(problem) ? decodeWorkspaceBytes(problem) : 0;
}

bool cudaAttentionReadsPages(const AttentionProblem& problem)
{
    return decodeSupports(problem);
}

void attentionForwardPagedCuda(const AttentionProblem& problem, const ForwardTensors& tensors,
                               const PagedKeys& paged, CudaStream stream)
{
    check(decode(problem, tensors, stream, paged, preferredDecode()), problem);
}

void attentionForwardCuda(const AttentionProblem& problem, const ForwardTensors& tensors, CudaStream stream)
{
    if (decodeSupports(problem)) {
        return check(decode(problem, tensors, stream, {}, preferredDecode()), problem);
    }
    if constexpr (kHopperKernels) {
        if (useHopper() && hopper::forwardSupports(problem, tensors)) {
            return check(hopper::forward(problem, tensors, stream), problem);
        }
        if (useHopper() && hopper::forwardTf32Supports(problem, tensors)) {
            return check(hopper::forwardTf32(problem, tensors, stream), problem);
        }
    }
    const ForwardParameters parameters{.shape = kernelShape(problem),
                                       .q = tensors.q,
                                       .k = tensors.k,
                                       .v = tensors.v,
                                       .o = tensors.o,
                                       .logSumExp = static_cast<float*>(tensors.logSumExp),
                                       .statistics = static_cast<RowStatistics<float>*>(tensors.statistics)};
    check(required(mmaForward(problem), problem)(parameters, stream), problem);
}

bool cudaFp8Supports(const AttentionProblem& problem, const ForwardTensors& tensors)
{
    if constexpr (kHopperKernels) {
        return useHopper() && hopper::forwardFp8Supports(problem, tensors);
    }
    return false;
}

std::size_t cudaFp8WorkspaceBytes(const AttentionProblem& problem)
{
    if constexpr (kHopperKernels) {
        return hopper::forwardFp8WorkspaceBytes(problem);
    }
    return 0;
}

void attentionForwardFp8Cuda(const AttentionProblem& problem, const ForwardTensors& tensors,
                             CudaStream stream)
{
    if (!cudaFp8Supports(problem, tensors)) {
        throw std::runtime_error(
            "tilescope::attention_fp8: no kernel for " + describe(problem) +
            " on this device; it needs compute capability 9.0, bf16 and a head dim of 64 or 128");
    }
    if constexpr (kHopperKernels) {
        check(hopper::forwardFp8(problem, tensors, stream), problem);
    }
}

void attentionBackwardCuda(const AttentionProblem& problem, const BackwardTensors& tensors, CudaStream stream)
{
    if constexpr (kHopperKernels) {
        if (useHopper() && hopper::backwardSupports(problem, tensors)) {
            return check(hopper::backward(problem, tensors, stream), problem);
        }
        if (useHopper() && hopper::backwardTf32Supports(problem, tensors)) {
            return check(hopper::backwardTf32(problem, tensors, stream), problem);
        }
    }
    const std::int64_t rows = queryRows(problem.shape);
    float* gradQSum = static_cast<float*>(tensors.workspace);
    float* delta = gradQSum + rows * problem.shape.headDim;
    int* semaphores = reinterpret_cast<int*>(delta + rows);
    if (problem.deterministic) {
        check(cudaMemsetAsync(semaphores, 0, static_cast<std::size_t>(semaphoreCount(problem)) * sizeof(int),
                              stream),
              problem);
    }
    const BackwardParameters parameters{.shape = kernelShape(problem),
                                        .q = tensors.q,
                                        .k = tensors.k,
                                        .v = tensors.v,
                                        .o = tensors.o,
                                        .gradO = tensors.gradO,
                                        .logSumExp = static_cast<const float*>(tensors.logSumExp),
                                        .statistics =
                                            static_cast<const RowStatistics<float>*>(tensors.statistics),
                                        .gradQ = tensors.gradQ,
                                        .gradK = tensors.gradK,
                                        .gradV = tensors.gradV,
                                        .delta = delta,
                                        .gradQSum = gradQSum,
                                        .semaphores = problem.deterministic ? semaphores : nullptr,
                                        .gradLogSumExp = static_cast<const float*>(tensors.gradLogSumExp)};
    check(required(mmaBackward(problem), problem)(parameters, stream), problem);
}

} // namespace tilescope::kernels
