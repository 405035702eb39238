#pragma once

#include "kernels/include/attention.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

/// What the files of the torch op share: checked arguments in, records for the kernels out.
namespace tilescope::kernels {

/// The arguments of one call, as the op's schema has them.
struct AttentionOptions {
    bool causal = false;
    std::optional<double> scale; ///< 1 / sqrt(head dim) where there is none
    std::string_view fp32 = "ieee";
    bool deterministic = false;
};

/// Refuses, in one sentence and before anything is launched or allocated, what no kernel can compute.
/// Sizes may be symbolic (shape inference).
/// \throws c10::ValueError
void checkAttentionArguments(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const AttentionOptions& options);

/// As 4-D (batch, heads, rows, head dim): a 3-D tensor has one head.
at::Tensor withHeads(const at::Tensor& tensor);

ElementType elementType(const at::Tensor& tensor);
Fp32Mode fp32Mode(const AttentionOptions& options);

/// The problem of checked 4-D tensors; scale as in the options or its default.
AttentionProblem attentionProblem(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options);

ConstView constView(const at::Tensor& tensor);
MutableView mutableView(const at::Tensor& tensor);

/// Forward and backward on 4-D tensors of checked sizes, per device. Outputs are allocated by the caller.
void launchForwardCpu(const AttentionProblem& problem, ForwardTensors tensors);
void launchBackwardCpu(const AttentionProblem& problem, BackwardTensors tensors);
void launchForwardCuda(const AttentionProblem& problem, const ForwardTensors& tensors, c10::Device device);
void launchBackwardCuda(const AttentionProblem& problem, BackwardTensors tensors, c10::Device device);

} // namespace tilescope::kernels
