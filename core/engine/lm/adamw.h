#pragma once

#include "core/engine/parallel/parallelism.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::engine {

// torch.optim.AdamW
inline constexpr double kLearningRate = 1e-3;
inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;
inline constexpr double kWeightDecay = 1e-2;

// Names of the state of a parameter, after the parameter's name.
inline constexpr const char* kFirstMoment = " first moment";
inline constexpr const char* kSecondMoment = " second moment";

/// The same memory in row-major order. Weights are stored transposed, and the fused CPU kernel is ten times slower
/// on transposed tensors.
at::Tensor rowMajor(const at::Tensor& t);

/// AdamW (Loshchilov and Hutter, 2019) with PyTorch's defaults, using LibTorch's fused kernel. Scales the
/// loss of fp16 training like PyTorch's GradScaler. Session thread.
class AdamW {
public:
    /// \param parameters  on `device`; the names label the optimizer-state allocations. A rank may have none
    AdamW(const std::vector<NamedTensor>& parameters, at::Device device, bool scaleLoss);

    /// The initial gradient of backward: one, or the current loss scale.
    const at::Tensor& lossGradient() const { return lossScale_; }

    /// Visits its state; the state of a parameter has the parameter's name.
    void visitHeld(const HoldVisitor& visit) const;

    /// Updates the parameters from the gradients. With a scaled loss: unscales the gradients first, skips the
    /// update if one is not finite, and adapts the scale.
    void step();
    /// Called in step() with a tensor that is 1 if a gradient is not finite, else 0; may change it.
    void onOverflow(std::function<void(const at::Tensor& found)> check) { check_ = std::move(check); }

private:
    std::vector<at::Tensor> gradients();

    std::vector<std::string> names_;
    std::vector<at::Tensor> parameters_;
    std::vector<at::Tensor> updated_; // their memory in row-major order
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
