// The CUDA backend: calls the plain C++ launchers with LibTorch's device, stream and allocator.
#include "kernels/torch/attention_op.h"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace tilescope::kernels {

void launchForwardCuda(const AttentionProblem& problem, ForwardTensors tensors, c10::Device device)
{
    const c10::cuda::CUDAGuard guard(device);
    c10::DataPtr workspace; // freed on return, but only later work of this stream reuses it, after the kernel
    if (const std::size_t bytes = cudaForwardWorkspaceBytes(problem); bytes > 0) {
        workspace = c10::cuda::CUDACachingAllocator::get()->allocate(bytes);
        tensors.workspace = workspace.get();
    }
    attentionForwardCuda(problem, tensors, c10::cuda::getCurrentCUDAStream().stream());
}

void launchBackwardCuda(const AttentionProblem& problem, BackwardTensors tensors, c10::Device device)
{
    const c10::cuda::CUDAGuard guard(device);
    // Freed on return, but only later work of this stream reuses it, after the kernels.
    const c10::DataPtr workspace =
        c10::cuda::CUDACachingAllocator::get()->allocate(cudaBackwardWorkspaceBytes(problem));
    tensors.workspace = workspace.get();
    attentionBackwardCuda(problem, tensors, c10::cuda::getCurrentCUDAStream().stream());
}

void prepareCaptureByCuda(c10::Device device)
{
    const c10::cuda::CUDAGuard guard(device);
    at::cuda::getCurrentCUDABlasHandle();
}

bool isCapturedByCuda(c10::Device device)
{
    const c10::cuda::CUDAGuard guard(device);
    return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

} // namespace tilescope::kernels
