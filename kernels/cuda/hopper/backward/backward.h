#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tilescope::kernels::hopper {

/// Whether the Hopper kernel does this problem: as forwardTakes(), for the gradients too.
bool backwardTakes(const AttentionProblem& problem, const BackwardTensors& tensors);

/// The same from the problem alone: whether it takes tensors of some strides.
bool backwardKnows(const AttentionProblem& problem);

/// Whether the kernel for fp32 rounded to TF32 does this problem: knowsTf32(), and tensors as above.
bool backwardTf32Takes(const AttentionProblem& problem, const BackwardTensors& tensors);

/// Bytes of BackwardTensors::workspace: the fp32 query gradients, log-sum-exp and delta; linear in the
/// queries.
std::size_t backwardWorkspaceBytes(const AttentionProblem& problem);

/// Writes gradQ, gradK and gradV. Asynchronous on `stream`; three kernels.
/// Requires compute capability 9.0 and backwardTakes().
cudaError_t backward(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream);

/// The same for a problem of backwardTf32Takes().
cudaError_t backwardTf32(const AttentionProblem& problem, const BackwardTensors& tensors,
                         cudaStream_t stream);

} // namespace tilescope::kernels::hopper
