#pragma once

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

// Products in 8 bits (precision: fp8): factors in E4M3 with scales (kernels/include/fp8.h), sums in fp32, results in bf16.
//
// A weight has one scale. The other factor, activations or gradients, has one scale per row, computed from
// that row. There is no history of scales, so a captured step needs no state. Method: Micikevicius et al.,
// "FP8 Formats for Deep Learning", 2022, with dynamic scales per row as in torchao's recipe `rowwise`.
// Gradients are E4M3, too: with a scale per row, they do not need the range of E5M2.
//
// On a GPU, LibTorch's _scaled_mm computes the products (compute capability 8.9 and later; K and N are
// multiples of 16). On a CPU, they are computed in fp32 from the same E4M3 factors.

/// Whether GPUs of this compute capability have tensor cores for E4M3.
constexpr bool multipliesE4m3(int major, int minor)
{
    return major > 8 || (major == 8 && minor >= 9);
}

/// Activations or gradients (rows, k).
struct QuantizedRows {
    at::Tensor values; ///< E4M3 (rows, k)
    at::Tensor scales; ///< fp32 (rows, 1)
};
QuantizedRows quantizedRows(const at::Tensor& x);

/// A weight (in, out) in both orders: x W = x values^T, and the gradient of x is gradient transposed^T.
struct QuantizedWeight {
    at::Tensor values;     ///< E4M3 (out, in)
    at::Tensor transposed; ///< E4M3 (in, out)
    at::Tensor scales;     ///< fp32: one scale, repeated max(in, out) times

    /// \param weight  bf16 or fp32 (in, out), stored by columns; the constructor allocates and quantises
    explicit QuantizedWeight(const at::Tensor& weight);
    /// Quantises the weight again after an update, in the same memory, on the current stream.
    void set(const at::Tensor& weight) const;
};

/// x W.
at::Tensor fp8Product(const QuantizedRows& x, const QuantizedWeight& weight);
/// gradient W^T. Hopper's tensor cores keep about 14 bits of a sum. Here, partial sums are added in fp32. fp8Product()
/// is faster and omits this, so a long sum of terms of one sign comes out far too small (study products).
at::Tensor fp8InputGradient(const QuantizedRows& gradient, const QuantizedWeight& weight);

} // namespace tilescope::engine
