#pragma once

#include "kernels/torch/attention_op.h"

#include <array>

/// Attention by PyTorch's own operators, one block of query rows at a time.
///
/// Memory is linear in queries and keys. It is ten or more times as slow as the kernels, and serves only
/// forward-mode derivatives and the scales that the kernels do not take. Arguments are checked and not empty.
namespace tilescope::kernels {

using TensorTriple = std::array<at::Tensor, 3>;

/// Whether fp32 arithmetic suffices for this scale: it is 0, or between 2^-100 and 2^10.
///
/// A larger scale multiplies the rounding errors of ordinary scores by so much that they decide the result. A
/// smaller one vanishes in fp32 and would turn a masked score into 0 * infinity.
bool fitsFp32(double scale);

/// Whether the kernels compute attention of these operands with this scale.
///
/// The CUDA kernels compute exponents as fma(score, scale, -offset), where the offset is a row's largest
/// scaled score (backward: its log-sum-exp), rounded to fp32. The relative error of an offset is below
/// 5 * 2^-24. Up to offsets of 2^24 a probability is at most 2^8 times too large; far beyond, it is infinite
/// (from 2^16 on in fp16) and results are NaN. The CPU kernels subtract the largest score first.
///
/// On a GPU, scales above 2^4 are therefore checked against the largest norms of q and k, which waits for the
/// device. Up to 2^4, scores up to 2^20 are within the limit, and nothing is checked. While a CUDA graph is
/// captured, the kernels compute no scale above 2^4.
bool kernelsTake(const at::Tensor& q, const at::Tensor& k, double scale);

/// (o, log-sum-exp, row statistics) in the types that the op returns, computed in fp64.
///
/// The statistics are those of the CUDA kernels: their backward reads them if only forward was captured in a graph.
TensorTriple attentionByRows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const AttentionOptions& options);

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
