#pragma once

#include "core/engine/parallel/parallelism.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::engine {

// The defaults of torch.optim.AdamW.
inline constexpr double kLearningRate = 1e-3;
inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;
inline constexpr double kWeightDecay = 1e-2;

// Suffixes that name the state of a parameter, appended to the parameter's name.
inline constexpr const char* kFirstMoment = " first moment";
inline constexpr const char* kSecondMoment = " second moment";

/// A view of the same memory in row-major order. Weights are stored transposed, and the fused CPU kernel is
/// ten times slower on transposed tensors.
at::Tensor rowMajor(const at::Tensor& t);

/// AdamW (Loshchilov and Hutter, 2019) with PyTorch's defaults, using LibTorch's fused kernel. Scales the
/// loss of fp16 training like PyTorch's GradScaler. Session thread.
class AdamW {
public:
    /// \param parameters  on `device`; may be empty on a rank. Their names label the optimizer-state allocations
    AdamW(const std::vector<NamedTensor>& parameters, at::Device device, bool scaleLoss);

    /// The initial gradient of backward: one, or the current loss scale.
    const at::Tensor& lossGradient() const { return lossScale_; }

    /// Visits the optimizer state; each tensor is named after its parameter.
    void visitHeld(const HoldVisitor& visit) const;

    /// Updates the parameters from the gradients. With a scaled loss: unscales the gradients first, skips the
    /// update if one is not finite, and adapts the scale.
    void step();
    /// Sets a function that step() calls with a tensor: 1 if a gradient is not finite, else 0. It may be changed.
    void onOverflow(std::function<void(const at::Tensor& found)> check) { check_ = std::move(check); }

private:
    std::vector<at::Tensor> gradients();

    std::vector<std::string> names_;
    std::vector<at::Tensor> parameters_;
    std::vector<at::Tensor> updated_; // row-major views of the parameters
    std::vector<at::Tensor> firstMoments_;
    std::vector<at::Tensor> secondMoments_;
    at::Tensor steps_;                   // shared by all parameters
    std::vector<at::Tensor> stepOfEach_; // steps_, once per parameter
    bool scaled_;
    std::function<void(const at::Tensor&)> check_;
    at::Tensor lossScale_;
    at::Tensor growthTracker_;
    at::Tensor foundInf_;
};

} // namespace tilescope::engine
