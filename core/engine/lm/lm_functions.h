#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace tilescope::engine {

// Custom autograd functions of the lm. Each computes the same as several plain ops, with one or two kernels
// and one graph node.

/// The rotary position embedding (Su et al., 2021) for a packed qkv projection, computed once per model.
///
/// A pair of neighbours (x0, x1) of a head is a complex number; at position t it is rotated by
/// t·theta^(-2i/d). The rotation of q includes the scale of the scores; the factor of v is one.
struct Rotation {
    at::Tensor forward;  ///< (3, batch, heads, N, d/2) complex, expanded over batch and heads
    at::Tensor backward; ///< the conjugate of `forward`
};
Rotation makeRotation(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t headDim,
                      double theta, double scale, at::TensorOptions options);

/// Splits qkv (batch·N, 3·heads·d) into q, k and v by head, with q and k rotated. Each is contiguous, has
/// qkv's dtype, and has shape (batch, heads, N, d), or (batch·heads, N, d) if `grouped`.
std::array<at::Tensor, 3> splitHeads(const at::Tensor& qkv, const Rotation& rotation, bool grouped);

/// The inverse of splitHeads() for the output of attention: (batch, heads, N, d) or (batch·heads, N, d) to
/// (batch·N, heads·d).
at::Tensor mergeHeads(const at::Tensor& o, std::int64_t batch, std::int64_t heads);

/// silu(x[:, :f]) * x[:, f:] for x (rows, 2f).
at::Tensor swiGlu(const at::Tensor& x);

} // namespace tilescope::engine
