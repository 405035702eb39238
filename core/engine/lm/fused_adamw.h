#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/engine/lm/fused_ops.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::engine {

/// AdamW with PyTorch's defaults for the parameters of the fused model. Computes in fp32 on fp32 weights,
/// whose upper halves are the model's bf16 weights. Session thread.
///
/// A step is begin(), then one update per parameter. Updates of different parameters may run on different
/// streams, after begin().
class FusedAdamW {
public:
    FusedAdamW(std::vector<FusedOps::Tensor> parameters, const std::vector<std::string>& names);

    void begin();
    void update(const FusedOps::Tensor& parameter) { updateEach({parameter}); }
    /// Updates a bf16 weight whose gradient is gradient^T x, and computes both in one kernel.
    void updateWithGradient(const FusedOps::Tensor& weight, const at::Tensor& gradient, const at::Tensor& x);
    void updateAll() { updateEach(parameters_); }

    void visitHeld(const std::vector<std::string>& names, const HoldVisitor& visit) const;

private:
    struct Moments {
        at::Tensor first;
        at::Tensor second;
    };

    void updateEach(const std::vector<FusedOps::Tensor>& parameters);
    const Moments& momentsOf(const FusedOps::Tensor& parameter) const { return moments_.at(parameter.get()); }

    std::vector<FusedOps::Tensor> parameters_;
    std::unordered_map<const FusedValue*, Moments> moments_; // row-major
    at::Tensor steps_;
};

} // namespace tilescope::engine
