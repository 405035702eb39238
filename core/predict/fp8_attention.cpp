#include "core/predict/attention.h"
#include "core/predict/fused_kernels.h"

namespace tilescope::predict {

namespace {

// tilescope::attention_fp8: o, one number per row, and the rounded q, k and v while it runs.
class Fp8Attention final : public AttentionMemory {
public:
    Fp8Attention(const TypedAttention& shape, Ops& ops) : shape_(shape), ops_(ops) {}

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override
    {
        Tensor o = ops_.make(shape_.queryCount(), shape_.type, "output");
        const Tensor logSumExp = ops_.make(shape_.rows(), Type::Float32, "log-sum-exp");
        const Storage rounded = ops_.temporary(workspace(), "q, k and v in 8 bits");
        ops_.moves(q.bytes() + k.bytes() + v.bytes() + workspace());
        timeFused(ops_, shape_, FusedKernel::FlashFp8, false);
        return o;
    }

private:
    // Fp8Inputs::in() of kernels/cuda/hopper: values in whole tiles of keys, and scales of 16 rows of q and of each tile.
    std::int64_t workspace() const
    {
        constexpr std::int64_t kAlignment = 128;
        constexpr std::int64_t kKeyTile = 128;
        constexpr std::int64_t kQueryBlock = 16;
        const std::int64_t queryHeads = shape_.batch * shape_.heads;
        const std::int64_t keyHeads = shape_.batch * shape_.kvHeads;
        const std::int64_t keyTiles = (shape_.keys + kKeyTile - 1) / kKeyTile;
        const std::int64_t queryBlocks = (shape_.queries + kQueryBlock - 1) / kQueryBlock;
        return roundedUp(queryHeads * shape_.queries * shape_.headDim, kAlignment) +
               roundedUp(keyHeads * shape_.keys * shape_.headDim, kAlignment) +
               roundedUp(keyHeads * shape_.headDim * keyTiles * kKeyTile, kAlignment) +
               roundedUp(queryHeads * queryBlocks * kFloat, kAlignment) +
               roundedUp(keyHeads * keyTiles * 2 * kFloat, kAlignment);
    }

    TypedAttention shape_;
    Ops& ops_;
};

} // namespace

std::unique_ptr<AttentionMemory> makeFp8Attention(const TypedAttention& shape, Ops& ops)
{
    return std::make_unique<Fp8Attention>(shape, ops);
}

} // namespace tilescope::predict
