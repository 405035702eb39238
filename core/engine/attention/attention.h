#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/attention_spec.h"

#include <ATen/core/Tensor.h>

#include <memory>

namespace tilescope::engine {

/// One way to compute attention, differentiable. q, k and v are contiguous in the shapes that
/// BackendTraits::groupsHeads defines; o has the shape of q. Session thread.
class AttentionBackend {
public:
    virtual ~AttentionBackend() = default;
    virtual at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;
    /// Visits the tensors that are kept between calls, such as masks.
    virtual void visitHeld(const HoldVisitor& /*visit*/) const {}
};

/// \param inputs  device and dtype of q, k and v
/// \throws Unsupported  if the backend cannot compute the problem (device, dtype, head dim, heads) or is not
///                      part of this build
std::unique_ptr<AttentionBackend> makeAttention(Backend backend, const AttentionSpec& spec,
                                                const at::TensorOptions& inputs);

std::unique_ptr<AttentionBackend> makeNaiveAttention(const AttentionSpec& spec,
                                                     const at::TensorOptions& inputs);
std::unique_ptr<AttentionBackend> makeTiledAttention(const AttentionSpec& spec,
                                                     const at::TensorOptions& inputs);
std::unique_ptr<AttentionBackend> makeFlashAttention(const AttentionSpec& spec);
std::unique_ptr<AttentionBackend> makeFp8Attention(const AttentionSpec& spec,
                                                   const at::TensorOptions& inputs);
std::unique_ptr<AttentionBackend> makeSdpaAttention(Backend backend, const AttentionSpec& spec,
                                                    const at::TensorOptions& inputs);

} // namespace tilescope::engine
