#pragma once

#include "kernels/include/attention.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tilescope::kernels::hopper {

/// Whether the Hopper kernel computes this problem: as forwardSupports(), with the gradients.
bool backwardSupports(const AttentionProblem& problem, const BackwardTensors& tensors);

/// The same without the tensors: whether suitable tensors exist.
bool backwardSupportsProblem(const AttentionProblem& problem);

/// The same for fp32 inputs in Fp32Mode::Tf32 for which supportsTf32() is true.
bool backwardTf32Supports(const AttentionProblem& problem, const BackwardTensors& tensors);

/// Bytes of BackwardTensors::workspace: the fp32 query gradients, log-sum-exp and delta; linear in the
/// queries.
std::size_t backwardWorkspaceBytes(const AttentionProblem& problem);

/// Writes gradQ, gradK and gradV. Asynchronous on `stream`; three kernels.
/// Requires compute capability 9.0 and backwardSupports().
cudaError_t backward(const AttentionProblem& problem, const BackwardTensors& tensors, cudaStream_t stream);

/// The same for problems for which backwardTf32Supports() is true.
cudaError_t backwardTf32(const AttentionProblem& problem, const BackwardTensors& tensors,
                         cudaStream_t stream);

} // namespace tilescope::kernels::hopper
