#include "core/predict/attention.h"

#include <algorithm>
#include <cmath>

namespace tilescope::predict {

namespace {

Type typeOf(Precision precision)
{
    if (precision == Precision::Bf16)
        return Type::BFloat16;
    return precision == Precision::Fp16 ? Type::Float16 : Type::Float32;
}

void addCommon(AttentionShape& shape, const ExperimentSpec& spec)
{
    shape.batch = spec.batch;
    shape.heads = spec.heads;
    shape.type = typeOf(spec.precision);
    shape.isTf32 = spec.precision == Precision::Tf32;
    shape.needsGradient = spec.mode != Mode::Forward || spec.grad;
    shape.isDeterministic = spec.deterministic;
    shape.tileQ = spec.tileQ;
    shape.tileK = spec.tileK;
}

} // namespace

double AttentionShape::visiblePairs() const
{
    const auto heads_ = static_cast<double>(batch * heads);
    const auto q = static_cast<double>(queries);
    const auto k = static_cast<double>(keys);
    if (!isCausal)
        return heads_ * q * k;
    // The last query sees all keys, each one before one less.
    const double rows = std::min(q, k);
    return heads_ * (rows * k - rows * (rows - 1) / 2);
}

double FusedShare::of(std::int64_t headDim) const
{
    const auto d = static_cast<double>(headDim);
    if (d <= 64)
        return at64 * d / 64;
    return at64 + (at128 - at64) * (std::min(d, 128.0) - 64) / 64;
}

void timeFused(Ops& ops, const AttentionShape& shape, FusedShare share, bool isBackward, bool mayUseTf32)
{
    if (ops.clock() == nullptr)
        return;
    const double products = isBackward ? 5 : 2;
    const double flops = products * 2 * shape.visiblePairs() * static_cast<double>(shape.headDim);
    const auto element = static_cast<double>(bytesOf(shape.type));
    const auto q = static_cast<double>(shape.queryCount());
    const auto k = static_cast<double>(shape.keyCount());
    const double bytes = (isBackward ? 5 * q + 4 * k : 2 * q + 2 * k) * element;
    constexpr double kRows = 128;
    double blocks = static_cast<double>(shape.batch * shape.heads) *
                    std::ceil(static_cast<double>(shape.queries) / kRows);
    // Under a causal mask the last block of a head has twice the work of an average one, and all wait for it
    // unless there are many.
    constexpr double kWaitForLongest = 1.3;
    if (shape.isCausal && blocks < 2 * ops.multiprocessors())
        blocks /= kWaitForLongest;
    ops.clock()->fused(shape.type, shape.isTf32 && mayUseTf32, flops, share.of(shape.headDim), bytes, blocks);
    // Backward sums o times its gradient before, and turns the gradient of q into its type after.
    if (isBackward) {
        ops.moves(shape.queryCount() * 2 * bytesOf(shape.type));
        ops.moves(shape.queryCount() * (4 + bytesOf(shape.type)));
    }
}

AttentionShape attentionOfLm(const ExperimentSpec& spec)
{
    AttentionShape shape;
    addCommon(shape, spec);
    shape.kvHeads = spec.heads;
    shape.queries = shape.keys = spec.context;
    shape.headDim = spec.dModel / spec.heads;
    shape.isScaled = false; // the rotation of q has the factor
    return shape;
}

AttentionShape attentionAlone(const ExperimentSpec& spec)
{
    AttentionShape shape;
    addCommon(shape, spec);
    shape.kvHeads = spec.kvHeads;
    shape.queries = spec.seqLen;
    shape.keys = spec.kvLen;
    shape.headDim = spec.headDim;
    shape.isCausal = spec.causal;
    return shape;
}

std::unique_ptr<AttentionMemory> makeAttention(Backend backend, const AttentionShape& shape,
                                               const TargetDevice& device, Ops& ops)
{
    switch (backend) {
    case Backend::Naive:
        return makeNaiveAttention(shape, ops);
    case Backend::FlashTorch:
        return makeTiledAttention(shape, ops);
    case Backend::Flash:
        return makeFlashAttention(shape, device, ops);
    case Backend::Sdpa:
    case Backend::SdpaFlash:
    case Backend::SdpaEfficient:
    case Backend::SdpaCudnn:
    case Backend::SdpaMath:
        break;
    }
    return makeSdpaAttention(backend, shape, device, ops);
}

} // namespace tilescope::predict
