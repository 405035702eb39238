#pragma once

#include "kernels/include/attention.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

/// Conversion of the torch op's arguments to the records of the kernels.
namespace tilescope::kernels {

/// The options of one call, as in the op's schema.
struct AttentionOptions {
    bool causal = false;
    std::optional<double> scale; ///< default: 1 / sqrt(head dim)
    std::string_view fp32 = "ieee";
    bool deterministic = false;
};

/// Checks the arguments before anything is launched or allocated. Sizes may be symbolic (shape inference).
/// \throws c10::ValueError  one sentence, if no kernel can compute this
void checkAttentionArguments(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const AttentionOptions& options);

/// The tensor as (batch, heads, rows, head dim). A 3-D tensor has one head.
at::Tensor withHeads(const at::Tensor& tensor);

ElementType elementType(const at::Tensor& tensor);
Fp32Mode fp32Mode(const AttentionOptions& options);

/// The problem of checked 4-D tensors, with the scale of the options or its default.
AttentionProblem attentionProblem(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options);

ConstView constView(const at::Tensor& tensor);
MutableView mutableView(const at::Tensor& tensor);

/// Forward and backward on 4-D tensors of checked sizes, per device. Outputs are allocated by the caller.
void launchForwardCpu(const AttentionProblem& problem, ForwardTensors tensors);
void launchBackwardCpu(const AttentionProblem& problem, BackwardTensors tensors);
void launchForwardCuda(const AttentionProblem& problem, ForwardTensors tensors, c10::Device device);
void launchBackwardCuda(const AttentionProblem& problem, BackwardTensors tensors, c10::Device device);

/// Creates what attentionByRows() uses on the current stream and thread: a capture cannot create it.
void prepareCaptureByCuda(c10::Device device);

/// Whether the device's current stream captures a graph.
bool isCapturedByCuda(c10::Device device);

} // namespace tilescope::kernels
