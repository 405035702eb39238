#pragma once

#include "core/engine/lm/fused_ops.h"
#include "core/model/run.h"

#include <functional>
#include <vector>

namespace tilescope::engine {

/// How exact one step in precision fp8 is, compared with the same step in bf16.
///
/// Products, by the name of their weight (`qkv`, `projection`, `gate_up`, `down`) and direction, over all layers:
/// - `result.fp8.error.forward.qkv`, `result.fp8.error.backward.qkv`: |y8 - y16| / |y16| (Euclidean norms) of the product
///   and of the input gradient, for the same factors before quantisation;
/// - `result.fp8.flushed.…`: the share of activations or gradients that are not 0 and become 0;
/// - `result.fp8.largest.…`: the share that has the largest magnitude of E4M3. No scale clips: this is at least one value
///   of a row, and more where values near the largest are rounded to it;
/// - `result.fp8.flushed.weights`: the same share of the weights.
///
/// Gradients of parameters, by layer (`layers.0`) or module outside of layers, and of all parameters together:
/// - `result.fp8.gradient_cosine`, `result.fp8.gradient_cosine.layers.0`: of the gradient in fp8 and that in bf16;
/// - `result.fp8.gradient_norm`, `result.fp8.gradient_norm.layers.0`: the ratio of their norms.
///
/// \param step  computes loss and gradients of the same tokens each time. The gradients of the last call remain.
/// \throws c10::OutOfMemoryError  the gradients in bf16, rounded to bf16, do not fit beside those in fp8
std::vector<EnvironmentEntry> fp8Accuracy(tilescope::LanguageModel<FusedOps>& model,
                                          const std::function<void()>& step);

} // namespace tilescope::engine
