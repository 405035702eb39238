#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

namespace tilescope::kernels::hopper {

/// Whether the Hopper kernel computes this problem: bf16 or fp16, a head dim that is a multiple of 8,
/// addresses and strides that are multiples of 16 bytes (for TMA). The mma.sync kernels compute all other
/// problems.
bool forwardSupports(const AttentionProblem& problem, const ForwardTensors& tensors);

/// Writes o and the log-sum-exp. Asynchronous on `stream`; one kernel, no workspace.
/// Requires compute capability 9.0 and forwardSupports().
cudaError_t forward(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream);

/// The same for fp32 inputs in Fp32Mode::Tf32 for which supportsTf32() is true.
bool forwardTf32Supports(const AttentionProblem& problem, const ForwardTensors& tensors);
cudaError_t forwardTf32(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream);

/// Forward with products in FP8 (E4M3): bf16 inputs, head dims 64 and 128, addresses and strides that are multiples of 16
/// bytes. Two kernels: the first rounds the inputs into the workspace.
bool forwardFp8Supports(const AttentionProblem& problem, const ForwardTensors& tensors);
std::size_t forwardFp8WorkspaceBytes(const AttentionProblem& problem);
cudaError_t forwardFp8(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
