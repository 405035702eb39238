#pragma once

#include <ATen/core/Tensor.h>

#include <array>

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

} // namespace tilescope::engine
