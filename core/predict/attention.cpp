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
    shape.isScaled = spec.headDim != 1; // by the root of the head dim
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
