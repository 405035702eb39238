#pragma once

#include "core/predict/attention.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tilescope::predict {

/// The kernels of kernels/: o, one or two numbers per row, and a workspace in backward.
class FlashAttention final : public AttentionMemory {
public:
    /// \param ops  must outlive this
    FlashAttention(const TypedAttention& shape, const TargetDevice& device, Ops& ops);

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override;

    struct Output {
        Tensor o;
        Tensor statistics; ///< of its rows, for backward
    };
    /// The kernel alone, without autograd.
    /// \param keepsStatistics  for backward
    Output forward(bool keepsStatistics) const;
    /// Likewise; the gradients exist.
    void backward() const;

private:
    bool keepsPairs() const;
    bool isPadded() const { return headDim_ != shape_.headDim; }
    std::int64_t paddedBytes(std::int64_t count) const;
    std::vector<Storage> padded(std::initializer_list<std::int64_t> counts) const;
    Storage paddedTarget(std::int64_t count) const;
    std::int64_t workspace() const;
    std::int64_t packedParts() const;
    std::int64_t forwardWorkspace() const;
    std::int64_t cpuBackwardWorkspace() const;
    std::int64_t cpuParts() const;

    TypedAttention shape_;
    TargetDevice device_;
    Ops& ops_;
    std::int64_t headDim_; ///< that of the kernel
};

} // namespace tilescope::predict
