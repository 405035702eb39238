#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/spec.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace tilescope::engine {

/// One attention call: its shape, its numbers and how it is to be done.
///
/// Causal is aligned bottom right: query i sees key j when j <= i + keyLength - queryLength. A query that
/// sees no key gets o = 0 and gives no gradient.
struct AttentionProblem {
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t kvHeads = 1; ///< divides heads
    std::int64_t queryLength = 1;
    std::int64_t keyLength = 1;
    std::int64_t headDim = 64;
    bool causal = true;
    double scale = 1;
    at::Device device = at::kCPU;
    at::ScalarType dtype = at::kFloat; ///< of q, k and v
    bool allowTf32 = false;
    bool needsGrad = false;
    bool annotate = false; ///< ranges scores, softmax, output
    int tileQ = 64;
    int tileK = 64;
    bool deterministic = false;
};

/// One way to compute attention, differentiable. q, k and v are contiguous in the shapes that
/// BackendTraits::groupsHeads defines; o has the shape of q. Session thread.
class AttentionBackend {
public:
    virtual ~AttentionBackend() = default;
    virtual at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;
    /// Visits the tensors that it keeps between calls, such as masks.
    virtual void visitHeld(const HoldVisitor& /*visit*/) const {}
};

/// \throws Unsupported  if the backend cannot compute the problem (device, dtype, head dim, heads) or is not
///                      part of this build
std::unique_ptr<AttentionBackend> makeAttention(Backend backend, const AttentionProblem& problem);

std::unique_ptr<AttentionBackend> makeNaiveAttention(const AttentionProblem& problem);
std::unique_ptr<AttentionBackend> makeTiledAttention(const AttentionProblem& problem);
std::unique_ptr<AttentionBackend> makeFlashAttention(const AttentionProblem& problem);
std::unique_ptr<AttentionBackend> makeSdpaAttention(Backend backend, const AttentionProblem& problem);

} // namespace tilescope::engine
