#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

namespace tilescope::kernels::hopper {

/// Whether the Hopper kernel does this problem: bf16 or fp16, head dims in eights, addresses and
/// strides in steps of 16 bytes (the copy engine's). The mma.sync kernels do the rest.
bool forwardTakes(const AttentionProblem& problem, const ForwardTensors& tensors);

/// Writes o and the log-sum-exp. Asynchronous on `stream`; one kernel, no workspace.
/// Requires compute capability 9.0 and forwardTakes().
cudaError_t forward(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream);

/// The same for fp32 inputs under Fp32Mode::Tf32: knowsTf32(), and tensors as above.
bool forwardTf32Takes(const AttentionProblem& problem, const ForwardTensors& tensors);
cudaError_t forwardTf32(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream);

} // namespace tilescope::kernels::hopper
