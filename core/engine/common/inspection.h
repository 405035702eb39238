#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <cstdint>
#include <vector>

namespace tilescope::engine {

class Device;

// Workloads that time nothing but find something out. What they find are facts of the run, keyed `result.…`.

/// Adds a thousand times 0.01 in four ways, by the precision of addend and sum, and does the same in double,
/// each sum rounded as IEEE 754 says: `result.fp16_into_fp32` and `result.fp16_into_fp32.arithmetic`.
std::vector<EnvironmentEntry> inspectAccumulation(const Device& device);

/// Runs a step of a toy model (linear 20 to 10, ReLU, layer norm, linear 10 to 5, cross entropy) under
/// autocast to fp16 and to bf16 and names the type of each value: `result.bf16.layer_norm`. And how far a
/// layer norm over 4,096 values computed in each precision lies from fp64: `result.norm.bf16`.
std::vector<EnvironmentEntry> inspectDtypes(const Device& device);

/// `value` rounded to a binary format, to nearest and ties to even, as its hardware does. Overflow becomes
/// infinite.
/// \param significand  bits with the leading one: 11 for fp16, 24 for fp32
/// \param smallest     exponent of the least normal number: -14, -126
/// \param largest      15, 127
double roundedTo(double value, int significand, int smallest, int largest);

} // namespace tilescope::engine
