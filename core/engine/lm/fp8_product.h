#pragma once

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

// Products in 8 bits (precision: fp8): factors in E4M3 with scales (kernels/include/fp8.h), sums in fp32, results in bf16.
//
// A weight has one scale. The other factor, activations or gradients, has one per row, computed from the row: there is no
// history, so a captured step needs no state. Method: Micikevicius et al., "FP8 Formats for Deep Learning", 2022, with
// dynamic scales by row as in torchao's recipe `rowwise`. Gradients are E4M3 too, because a scale per row needs less
// range than E5M2 has.
//
// On a GPU products are those of LibTorch's _scaled_mm (compute capability 8.9 and later; K and N are multiples of 16); on
// a CPU they are computed in fp32 from the same E4M3 factors.

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

/// A weight (in, out) in both orders. Its product with x is x values^T, and gradient transposed^T is the gradient of x.
struct QuantizedWeight {
    at::Tensor values;     ///< E4M3 (out, in)
    at::Tensor transposed; ///< E4M3 (in, out)
    at::Tensor scales;     ///< fp32: the same scale max(in, out) times

    /// \param weight  bf16 or fp32 (in, out), stored by columns; allocates for it and quantises it
    explicit QuantizedWeight(const at::Tensor& weight);
    /// Quantises the weight again after an update, in the same memory, on the current stream.
    void set(const at::Tensor& weight) const;
};

/// x W.
at::Tensor fp8Product(const QuantizedRows& x, const QuantizedWeight& weight);
/// gradient W^T. On Hopper, tensor cores keep about 14 bits of a sum; here each partial sum is added to one in fp32, and in
/// fp8Product(), which is faster, it is not: a long sum of terms of one sign is far too small (study products).
at::Tensor fp8InputGradient(const QuantizedRows& gradient, const QuantizedWeight& weight);

} // namespace tilescope::engine
