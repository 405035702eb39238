#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace tilescope::engine {

class Device;

// Workloads that measure no time. Their results are facts of the run, keyed `result.…`.

/// Adds 0.01 a thousand times in four combinations of the precisions of addend and sum:
/// `result.fp16_into_fp32`. Repeats it in double, rounding each sum according to IEEE 754:
/// `result.fp16_into_fp32.arithmetic`.
std::vector<EnvironmentEntry> inspectAccumulation(const Device& device);

/// The errors of products of matrices (128, K) and (K, 128) for factors of three distributions, in fp32, fp32x6,
/// bf16, fp8 (one scale per row of the left factor), fp8_gradient (with the sums of input gradients),
/// fp8_by_matrix (one scale per factor) and, on a GPU, tf32: `result.product.normal.1024.fp32x6`. GPUs that do not
/// multiply E4M3 have no fp8 results. The error of an element is its difference from fp64, divided by the sum of
/// the absolute values of its terms (|a| |b|). The fact is the root mean square over all elements of the product.
std::vector<EnvironmentEntry> inspectProducts(const Device& device, std::int64_t seed);

/// Runs a step of a toy model (linear 20 to 10, ReLU, layer norm, linear 10 to 5, cross entropy) under
/// autocast to fp16 and to bf16 and reports the type of each value: `result.bf16.layer_norm`. Also reports
/// the deviation from fp64 of a layer norm over 4,096 values in each precision: `result.norm.bf16`.
std::vector<EnvironmentEntry> inspectDtypes(const Device& device);

/// Rounds `value` to a binary format, to nearest and ties to even, as hardware does. Overflow returns
/// infinity.
/// \param significand  number of bits including the leading one: 11 for fp16, 24 for fp32
/// \param smallest     exponent of the smallest normal number: -14, -126
/// \param largest      exponent of the largest number: 15, 127
/// \return             the nearest number of the format, or infinity
double roundedTo(double value, int significand, int smallest, int largest);

/// The number with three significant digits, as facts have it: 0.00213, 1.5e-07.
inline std::string threeDigits(double value)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return text.data();
}

} // namespace tilescope::engine
