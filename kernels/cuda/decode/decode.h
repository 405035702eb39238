#pragma once

#include "kernels/include/attention.h"
#include "kernels/include/generation.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tilescope::kernels {

/// Whether the decode kernels compute this problem: bf16 or fp16, up to 16 queries, up to 64 rows (queries x query
/// heads of a key head), and head dims up to 128. They divide the keys among all multiprocessors.
bool decodeSupports(const AttentionProblem& problem);

/// Memory for parts of outputs on the current device; 0 if no key head is split. At most 17 MB per 132 multiprocessors.
std::size_t decodeWorkspaceBytes(const AttentionProblem& problem);

struct DecodeParameters;
/// A kernel to try first. Returns cudaErrorNotSupported, and launches nothing, for parameters that it cannot compute.
using PreferredDecode = cudaError_t (*)(const DecodeParameters&, ElementType, cudaStream_t);

/// Writes o and the log-sum-exp. Asynchronous on `stream`; one kernel. Results have the same bits in each run.
/// Requires decodeSupports() and ForwardTensors::workspace.
cudaError_t decode(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream,
                   const PagedKeys& paged = {}, PreferredDecode preferred = nullptr);

} // namespace tilescope::kernels
