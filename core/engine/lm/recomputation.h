#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>

namespace tilescope::engine {

/// A part of a model whose inner activations are not kept for backward but computed again there (Chen et al.,
/// 2016).
///
/// It must be a function of its inputs and of parameters alone, and outlive every graph made with it.
class RecomputedPart {
public:
    virtual ~RecomputedPart() = default;
    virtual at::Tensor run(const std::array<at::Tensor, 3>& inputs) const = 0;
};

/// part.run(inputs), keeping the inputs only. Unused inputs are undefined. Backward runs it again under the
/// autocast that is in force now, so gradients are those of a plain run to the bit where kernels are
/// deterministic.
at::Tensor recomputedInBackward(const RecomputedPart& part, const std::array<at::Tensor, 3>& inputs);

/// Told of the output of each part that backward computed again, before its own backward: a graph that no
/// root of the step leads to. On the thread that runs backward.
using RecomputationObserver = std::function<void(const at::Tensor& output)>;
/// Session thread, while no backward runs. Empty: nobody is told.
void observeRecomputation(RecomputationObserver observer);

} // namespace tilescope::engine
