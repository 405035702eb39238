#include "core/predict/flash_attention.h"

#include "core/predict/fused_kernels.h"

#include <algorithm>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kPackedBlock = 32;
constexpr std::int64_t kHalf = 2;
constexpr std::int64_t kHopperTile = 128;

} // namespace

// Addresses and strides of CUDA tensors are multiples of 16 bytes.
FlashAttention::FlashAttention(const TypedAttention& shape, const TargetDevice& device, Ops& ops)
    : shape_(shape), device_(device), ops_(ops),
      headDim_(roundedUp(shape.headDim, device.isCuda ? 16 / bytesOf(shape.type) : 1))
{
}

Tensor FlashAttention::apply(const Tensor& q, const Tensor& k, const Tensor& v)
{
    Output output = forward(ops_.recordsGraph());
    ops_.record(output.o, {&q, &k, &v}, {&q, &k, &v, &output.o, &output.statistics},
                [this, q, k, v, o = output.o, statistics = output.statistics](const Tensors&) {
                    const Tensors result = makeGradients(shape_, ops_);
                    backward();
                    return result;
                });
    return output.o;
}

FlashAttention::Output FlashAttention::forward(bool keepsStatistics) const
{
    timeFused(ops_, shape_, FusedKernel::Flash, false);
    const Tensor o = ops_.make(shape_.queryCount(), shape_.type, "output");
    const Tensor logSumExp = ops_.make(shape_.rows(), Type::Float32, "log-sum-exp");
    // Saved for backward: the log-sum-exp, or two numbers per row instead.
    const Tensor statistics = keepsPairs() && keepsStatistics
                                  ? ops_.make(2 * shape_.rows(), Type::Float32, "row statistics")
                                  : logSumExp;
    const auto operands = padded({shape_.queryCount(), shape_.keyCount(), shape_.keyCount()});
    const Storage output = paddedTarget(shape_.queryCount());
    const Storage workspace = ops_.temporary(forwardWorkspace(), "packed keys and values");
    return {o, statistics};
}

void FlashAttention::backward() const
{
    timeFused(ops_, shape_, FusedKernel::Flash, true);
    const std::int64_t q = shape_.queryCount();
    const std::int64_t k = shape_.keyCount();
    const auto operands = padded({q, k, k, q, q});
    const Storage targets[] = {paddedTarget(q), paddedTarget(k), paddedTarget(k)};
    ops_.temporary(workspace(), "workspace of the kernel");
}

// fp32 without TF32 saves two numbers per row.
bool FlashAttention::keepsPairs() const
{
    return shape_.type == Type::Float32 && !(device_.isCuda && shape_.allowTf32);
}

std::int64_t FlashAttention::paddedBytes(std::int64_t count) const
{
    return count / shape_.headDim * headDim_ * bytesOf(shape_.type);
}

std::vector<Storage> FlashAttention::padded(std::initializer_list<std::int64_t> counts) const
{
    std::vector<Storage> copies;
    for (const std::int64_t count : counts) {
        if (!isPadded())
            break;
        const Storage first = ops_.temporary(paddedBytes(count), "operand, padded");
        copies.push_back(ops_.temporary(paddedBytes(count), "operand, padded and copied"));
    }
    return copies;
}

Storage FlashAttention::paddedTarget(std::int64_t count) const
{
    return isPadded() ? ops_.temporary(paddedBytes(count), "result, padded") : Storage();
}

// kernels/cuda: fp32 gradient of q and delta; on Hopper padded to whole tiles, plus the log-sum-exp.
std::int64_t FlashAttention::workspace() const
{
    const std::int64_t rows = shape_.rows();
    if (!device_.isCuda)
        return cpuBackwardWorkspace();
    const std::int64_t turns =
        shape_.deterministic ? 2 * shape_.batch * shape_.heads * ((shape_.queries + 15) / 16) : 0;
    const std::int64_t plain = (rows * headDim_ + rows + turns) * kFloat;
    const bool isHopper = device_.computeMajor == 9 && shape_.type != Type::Float32 && headDim_ <= 128;
    if (!isHopper)
        return plain;
    const std::int64_t tiles = (shape_.queries + kHopperTile - 1) / kHopperTile;
    const std::int64_t heads = shape_.batch * shape_.heads;
    const std::int64_t paddedRows = heads * tiles * kHopperTile;
    return std::max(plain,
                    (paddedRows * (headDim_ + 2) + (shape_.deterministic ? heads * tiles : 0)) * kFloat);
}

// kernels/cpu/packed_*: number of 16-bit terms that represent a value; 0 for the plain kernels.
std::int64_t FlashAttention::packedParts() const
{
    const CpuInstructionSet set = device_.instructionSet;
    if (device_.isCuda || set < CpuInstructionSet::Avx512Bf16)
        return 0;
    if (shape_.type == Type::BFloat16)
        return 1;
    if (set < CpuInstructionSet::Amx)
        return 0;
    if (shape_.type == Type::Float32)
        return 3;
    return set == CpuInstructionSet::AmxFp16 ? 1 : 2;
}

// Forward packs k and v, in blocks of 32 keys and 32 columns.
std::int64_t FlashAttention::forwardWorkspace() const
{
    return shape_.batch * shape_.kvHeads * 2 * roundedUp(shape_.keys, kPackedBlock) *
           roundedUp(shape_.headDim, kPackedBlock) * packedParts() * kHalf;
}

// An fp32 gradient of q per key partition; the plain kernels also store delta.
std::int64_t FlashAttention::cpuBackwardWorkspace() const
{
    if (packedParts() > 0)
        return cpuParts() * shape_.batch * shape_.heads * roundedUp(shape_.queries, kPackedBlock) *
               roundedUp(shape_.headDim, kPackedBlock) * kFloat;
    const std::int64_t lanes = device_.instructionSet == CpuInstructionSet::Sse2   ? 4
                               : device_.instructionSet == CpuInstructionSet::Avx2 ? 8
                                                                                   : 16;
    return shape_.rows() * (1 + cpuParts() * roundedUp(shape_.headDim, lanes)) * kFloat;
}

// With few heads and many threads, the keys of a head are partitioned, each partition with its own
// gradient of q.
std::int64_t FlashAttention::cpuParts() const
{
    const std::int64_t heads = shape_.batch * shape_.kvHeads;
    const std::int64_t tile = packedParts() > 0 ? 256 : 128;
    const std::int64_t wanted = heads >= device_.threads ? 1 : (2 * device_.threads + heads - 1) / heads;
    return std::clamp<std::int64_t>(wanted, 1, std::min<std::int64_t>(8, (shape_.keys + tile - 1) / tile));
}

std::unique_ptr<AttentionMemory> makeFlashAttention(const TypedAttention& shape, const TargetDevice& device,
                                                    Ops& ops)
{
    return std::make_unique<FlashAttention>(shape, device, ops);
}

} // namespace tilescope::predict
