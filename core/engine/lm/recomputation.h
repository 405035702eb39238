#pragma once

#include "core/model/language_model.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>

namespace tilescope::engine {

/// A part of a model whose inner activations backward computes again instead of reading them (Chen et al.,
/// 2016). It depends only on its inputs and on parameters, and outlives every graph made with it.
using RecomputedPart = ModelPart<at::Tensor>;

/// part(inputs), keeping only the inputs. Unused inputs are undefined. Backward runs it again under the
/// autocast of this call, so gradients equal those of a plain run to the bit if kernels are deterministic.
at::Tensor recomputedInBackward(const RecomputedPart& part, const std::array<at::Tensor, 3>& inputs);

/// Called with the output of each part that backward computed again, before the backward of that output. The
/// graph of the output is not reachable from the roots of the step. On the thread that runs backward.
using RecomputationObserver = std::function<void(const at::Tensor& output)>;
/// Session thread, while no backward runs. An empty observer is not called.
void observeRecomputation(RecomputationObserver observer);

} // namespace tilescope::engine
