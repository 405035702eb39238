#pragma once

#include "core/model/attention_spec.h"
#include "core/predict/ops.h"
#include "core/predict/target_device.h"

#include <array>
#include <memory>
#include <vector>

namespace tilescope::predict {

/// An attention call on tensors without values.
struct TypedAttention : AttentionSpec {
    Type type = Type::Float32;

    /// Number of (query, key) pairs with the key visible to the query, over all heads.
    double visiblePairs() const;
};

/// The attention of a spec, with the type that autocast selects.
TypedAttention attentionCall(const ExperimentSpec& spec);

/// Allocates the gradients of q, k and v, in this order.
Tensors makeGradients(const TypedAttention& shape, Ops& ops);

/// The memory and time of an attention backend of core/engine.
class AttentionMemory {
public:
    virtual ~AttentionMemory() = default;
    /// o from q, k and v.
    virtual Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) = 0;
};

/// \param ops  must outlive the result
std::unique_ptr<AttentionMemory> makeAttention(Backend backend, const TypedAttention& shape,
                                               const TargetDevice& device, Ops& ops);

std::unique_ptr<AttentionMemory> makeNaiveAttention(const TypedAttention& shape, Ops& ops);
std::unique_ptr<AttentionMemory> makeTiledAttention(const TypedAttention& shape, Ops& ops);
std::unique_ptr<AttentionMemory> makeFlashAttention(const TypedAttention& shape, const TargetDevice& device,
                                                    Ops& ops);
std::unique_ptr<AttentionMemory> makeFp8Attention(const TypedAttention& shape, Ops& ops);
std::unique_ptr<AttentionMemory> makeSdpaAttention(Backend backend, const TypedAttention& shape,
                                                   const TargetDevice& device, Ops& ops);

} // namespace tilescope::predict
