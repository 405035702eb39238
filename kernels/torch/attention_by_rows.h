#pragma once

#include "kernels/torch/attention_op.h"

#include <array>

/// Attention by PyTorch's own operators, one block of query rows at a time: what the kernels do not compute.
///
/// Memory is linear in queries and keys. Slower than the kernels by an order of magnitude, so only for
/// forward-mode derivatives and for scales that the kernels do not take. Arguments are checked and not empty.
namespace tilescope::kernels {

using TensorTriple = std::array<at::Tensor, 3>;

/// Whether the kernels compute attention with this scale (or with 0).
///
/// They take the exponential of fma(score, scale, -offset), where offset is the largest product of score and
/// scale, rounded to fp32. From 2^30 on that rounding alone leaves the range of the exponential, so scales
/// whose products get there with ordinary scores are computed in fp64 instead, with (score - largest) * scale
/// as the exponent. Scales that vanish in fp32 would turn a masked score into 0 * infinity.
bool kernelsTakeScale(double scale);

/// (o, log-sum-exp) in the types that the op returns, computed in fp64.
std::tuple<at::Tensor, at::Tensor> attentionByRows(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& v, const AttentionOptions& options);

/// The gradients of q, k and v, computed in fp64.
/// \param gradLogSumExp  not defined: 0
TensorTriple attentionGradientsByRows(const at::Tensor& gradO, const at::Tensor& gradLogSumExp,
                                      const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const AttentionOptions& options);

/// The directional derivatives of (o, log-sum-exp). Differentiable themselves.
/// \param x         q, k, v
/// \param tangents  of q, k, v; not defined: 0
std::tuple<at::Tensor, at::Tensor>
attentionTangentsByRows(const TensorTriple& x, const TensorTriple& tangents, const AttentionOptions& options);

} // namespace tilescope::kernels
