#pragma once

#include "core/engine/lm/tuned_product.h"

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

// Products of fp32 matrices on tensor cores that multiply bf16 (precision: fp32x6).
//
// Each factor is the sum of three bf16 parts of 8 bits each. Of the nine products of parts, the three
// smallest are left out: they are below 2^-24 of the whole product, like the rounding of fp32. The other six
// are summed in fp32. Method: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence
// Datatype For Higher-Precision Computations", ARITH 2019.

/// a b for fp32 matrices (m, k) and (k, n). A matrix that is dense in neither order of its dimensions is
/// copied. An infinite value becomes NaN. Differentiable.
at::Tensor splitMm(const at::Tensor& a, const at::Tensor& b);

/// Sets `target` to a b, or adds a b to it. Not differentiable.
/// \param target  fp32 (m, n), row-major
void splitMmInto(at::Tensor& target, ProductTarget how, const at::Tensor& a, const at::Tensor& b);

/// The bf16 parts of a weight (in, out) that does not change, kept between products so that it is split once.
struct WeightParts {
    at::Tensor parts; ///< bf16 (out, 3 in): parts 0, 1 and 2 of each row side by side

    /// \param weight  fp32 (in, out), stored by columns
    explicit WeightParts(const at::Tensor& weight);
};

/// x W from the parts, or from the weight split again if that moves fewer bytes. Not differentiable.
at::Tensor splitMm(const at::Tensor& x, const at::Tensor& weight, const WeightParts& parts);
/// Sets `target` to gradient W^T, from the parts or from the weight split again.
/// \param target  fp32 (m, in), row-major
void splitInputGradientInto(at::Tensor& target, const at::Tensor& gradient, const at::Tensor& weight,
                            const WeightParts& parts);

} // namespace tilescope::engine
