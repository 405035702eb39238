#include "core/predict/attention.h"
#include "core/predict/sdpa_kernels.h"

namespace tilescope::predict {

namespace {

// PyTorch's scaled_dot_product_attention, as core/engine calls it: queries that see no key are left out and
// their output is set to zero; a longer key side becomes a mask.
class SdpaAttention final : public AttentionMemory {
public:
    SdpaAttention(Backend backend, const TypedAttention& shape, const TargetDevice& device, Ops& ops)
        : shape_(shape), device_(device), ops_(ops)
    {
        inner_ = shape;
        inner_.queries -= shape.blankRows();
        const bool isCausal = shape.causal && shape.queries > 1;
        hasMask_ = isCausal && shape.keys > shape.queries;
        inner_.causal = isCausal && !hasMask_;
        if (hasMask_)
            mask_ = ops.memory().make(shape.queries * shape.keys, MemoryCategory::Inputs, "mask");
        kernel_ = sdpaKernel(backend, inner_, hasMask_, device);
    }

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override
    {
        if (shape_.blankRows() == 0)
            return attend(q, k, v);
        // A view of the queries that see a key. Its gradient is written into one of all queries.
        Tensor seeing = q;
        seeing.count = inner_.queryCount();
        ops_.record(seeing, {&q}, {}, [this](const Tensors&) -> Tensors {
            return {ops_.make(shape_.queryCount(), shape_.type, "gradient of all queries")};
        });
        const Tensor o = attend(seeing, k, v);
        Tensor all = ops_.make(shape_.queryCount(), shape_.type, "output with blank rows");
        ops_.record(all, {&o}, {}, [this](const Tensors&) -> Tensors {
            return {ops_.make(inner_.queryCount(), shape_.type, "gradient of the rows that see a key")};
        });
        return all;
    }

private:
    Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v)
    {
        return kernel_->apply({inner_, hasMask_, device_}, ops_, q, k, v);
    }

    TypedAttention shape_;
    TypedAttention inner_; ///< the problem that is passed to PyTorch
    TargetDevice device_;
    Ops& ops_;
    bool hasMask_ = false;
    Storage mask_;
    const SdpaKernel* kernel_ = nullptr;
};

} // namespace

std::unique_ptr<AttentionMemory> makeSdpaAttention(Backend backend, const TypedAttention& shape,
                                                   const TargetDevice& device, Ops& ops)
{
    return std::make_unique<SdpaAttention>(backend, shape, device, ops);
}

} // namespace tilescope::predict
