#pragma once

#include "core/predict/attention.h"

namespace tilescope::predict {

/// The arguments of scaled_dot_product_attention for a kernel.
struct SdpaCall {
    TypedAttention shape;
    bool hasMask = false;
    TargetDevice device;
};

/// Models the memory of one of PyTorch's attention kernels. Stateless.
class SdpaKernel {
public:
    virtual ~SdpaKernel() = default;
    virtual Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                         const Tensor& v) const = 0;
};

/// The kernel that a backend names, or that PyTorch chooses.
const SdpaKernel* sdpaKernel(Backend backend, const TypedAttention& shape, bool hasMask,
                             const TargetDevice& device);

const SdpaKernel& sdpaMath();

} // namespace tilescope::predict
