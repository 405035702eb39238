#pragma once

#include "core/engine/common/held_tensors.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace tilescope::engine {

/// AdamW (Loshchilov and Hutter, 2019) with PyTorch's defaults, by LibTorch's fused kernel; scales the loss
/// of fp16 training as PyTorch's GradScaler does. Session thread.
class AdamW {
public:
    /// \param names  one per parameter; labels the optimizer-state allocations
    AdamW(const std::vector<at::Tensor>& parameters, const std::vector<std::string>& names, bool scaleLoss);

    /// What to start backward with: one, or the present scale of the loss.
    const at::Tensor& lossGradient() const { return lossScale_; }

    /// Tells its state; that of a parameter by the parameter's name.
    void visitHeld(const std::vector<std::string>& names, const HoldVisitor& visit) const;

    /// One update from the gradients. With a scaled loss: unscales them first, skips the update where one is
    /// not finite, and adapts the scale.
    void step();

private:
    std::vector<at::Tensor> gradients();

    std::vector<at::Tensor> parameters_;
    std::vector<at::Tensor> updated_; // their memory, row-major
    std::vector<at::Tensor> firstMoments_;
    std::vector<at::Tensor> secondMoments_;
    at::Tensor steps_;                   // one count for all parameters
    std::vector<at::Tensor> stepOfEach_; // steps_, once a parameter
    bool scaled_;
    at::Tensor lossScale_;
    at::Tensor growthTracker_;
    at::Tensor foundInf_;
};

} // namespace tilescope::engine
