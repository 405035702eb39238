#pragma once

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

/// What a product does with the former values of its target.
enum class GradientTarget { Set, Add };

/// target = gradient^T x, or target + gradient^T x, on a GPU: the gradient of a weight, in fp32 from bf16 factors.
///
/// The first call of a shape that sets the target and is not captured times the algorithms that cuBLASLt proposes and
/// keeps the fastest for the thread. Their sums differ in order, so two processes may differ in rounding.
/// Otherwise, and where cuBLASLt has no proposal, LibTorch computes the product.
///
/// \param target    fp32 (m, n), row-major
/// \param gradient  bf16 (k, m), row-major
/// \param x         bf16 (k, n), row-major
void tunedWeightGradient(at::Tensor& target, GradientTarget mode, const at::Tensor& gradient,
                         const at::Tensor& x);

} // namespace tilescope::engine
