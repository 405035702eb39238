#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/attention_spec.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace tilescope::engine {

/// An attention call on tensors.
struct AttentionCall : AttentionSpec {
    at::Device device = at::kCPU;
    at::ScalarType dtype = at::kFloat; ///< of q, k and v
};

/// One way to compute attention, differentiable. q, k and v are contiguous in the shapes that
/// BackendTraits::groupsHeads defines; o has the shape of q. Session thread.
class AttentionBackend {
public:
    virtual ~AttentionBackend() = default;
    virtual at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;
    /// Visits the tensors that are kept between calls, such as masks.
    virtual void visitHeld(const HoldVisitor& /*visit*/) const {}
};

/// \throws Unsupported  if the backend cannot compute the problem (device, dtype, head dim, heads) or is not
///                      part of this build
std::unique_ptr<AttentionBackend> makeAttention(Backend backend, const AttentionCall& problem);

std::unique_ptr<AttentionBackend> makeNaiveAttention(const AttentionCall& problem);
std::unique_ptr<AttentionBackend> makeTiledAttention(const AttentionCall& problem);
std::unique_ptr<AttentionBackend> makeFlashAttention(const AttentionCall& problem);
std::unique_ptr<AttentionBackend> makeFp8Attention(const AttentionCall& problem);
std::unique_ptr<AttentionBackend> makeSdpaAttention(Backend backend, const AttentionCall& problem);

} // namespace tilescope::engine
