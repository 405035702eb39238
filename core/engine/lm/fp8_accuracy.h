#pragma once

#include "core/engine/lm/fused_ops.h"
#include "core/model/run.h"

#include <functional>
#include <vector>

namespace tilescope::engine {

/// Measures the accuracy of one step in precision fp8 against the same step in bf16.
///
/// Products, by the name of their weight (`qkv`, `projection`, `gate_up`, `down`) and direction, over all layers:
/// - `result.fp8.error.forward.qkv`, `result.fp8.error.backward.qkv`: |y8 - y16| / |y16| (Euclidean norms) of the product
///   and of the input gradient, for the same factors before quantisation;
/// - `result.fp8.flushed.…`: the share of nonzero activations or gradients that become 0;
/// - `result.fp8.largest.…`: the share with the largest magnitude of E4M3. No scale clips: these are the
///   largest value of each row and values close enough to be rounded to it;
/// - `result.fp8.flushed.weights`: the share of nonzero weights that become 0.
///
/// Gradients of parameters, by layer (`layers.0`) or module outside layers, and for all parameters together:
/// - `result.fp8.gradient_cosine`, `result.fp8.gradient_cosine.layers.0`: the cosine between the fp8 and bf16 gradients;
/// - `result.fp8.gradient_norm`, `result.fp8.gradient_norm.layers.0`: the ratio of their norms.
///
/// \param step  computes loss and gradients, of the same tokens at each call. The gradients of the last call remain
/// \throws c10::OutOfMemoryError  the gradients in bf16, rounded to bf16, do not fit beside those in fp8
std::vector<EnvironmentEntry> fp8Accuracy(tilescope::LanguageModel<FusedOps>& model,
                                          const std::function<void()>& step);

} // namespace tilescope::engine
