#pragma once

#include "core/model/language_model.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>

namespace tilescope::engine {

/// A part of a model whose inner activations are recomputed in backward instead of saved (Chen et al., 2016).
/// Depends only on its inputs and on parameters, and must outlive every graph made with it.
using RecomputedPart = ModelPart<at::Tensor>;

/// Computes part(inputs) and saves only the inputs. Unused inputs are undefined. Backward runs it again under
/// the autocast state of this call, so gradients are bitwise equal to those of a plain run if kernels are
/// deterministic.
at::Tensor recomputedInBackward(const RecomputedPart& part, const std::array<at::Tensor, 3>& inputs);

/// Called with the output of each recomputed part, before the backward of that output. The graph of the
/// output is not reachable from the roots of the step. Runs on the backward thread.
using RecomputationObserver = std::function<void(const at::Tensor& output)>;
/// Session thread, while no backward runs. An empty observer is not called.
void observeRecomputation(RecomputationObserver observer);

} // namespace tilescope::engine
