#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace tilescope::engine {

// Custom autograd functions of the lm: each does in one or two kernels, with one node in the graph, what
// plain ops do in many. Their maths is that of the ops named with them.

/// The rotation of rotary position embedding (Su et al., 2021) for a packed qkv projection, made once a
/// model.
///
/// A pair of neighbours (x0, x1) of a head is a complex number, turned at position t by t·theta^(-2i/d). The
/// scale of the scores is folded into q's turn; v's turn is one.
struct Rotation {
    at::Tensor forward;  ///< (3, batch, heads, N, d/2) complex, expanded over batch and heads
    at::Tensor backward; ///< its conjugate
};
Rotation makeRotation(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t headDim,
                      double theta, double scale, at::TensorOptions options);

/// Splits qkv (batch·N, 3·heads·d) into q, k, v by head, q and k rotated; each contiguous, in qkv's dtype,
/// shaped (batch, heads, N, d), or (batch·heads, N, d) where `grouped`.
std::array<at::Tensor, 3> splitHeads(const at::Tensor& qkv, const Rotation& rotation, bool grouped);

/// The inverse for attention's output: (batch, heads, N, d) or (batch·heads, N, d) to (batch·N, heads·d).
at::Tensor mergeHeads(const at::Tensor& o, std::int64_t batch, std::int64_t heads);

/// silu(x[:, :f]) * x[:, f:] for x (rows, 2f).
at::Tensor swiGlu(const at::Tensor& x);

} // namespace tilescope::engine
