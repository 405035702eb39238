#include "core/predict/attention.h"

namespace tilescope::predict {

namespace {

Type typeOf(Precision precision)
{
    if (precision == Precision::Bf16)
        return Type::BFloat16;
    return precision == Precision::Fp16 ? Type::Float16 : Type::Float32;
}

} // namespace

double TypedAttention::visiblePairs() const
{
    return static_cast<double>(batch * heads) *
           static_cast<double>(tilescope::visiblePairs(queries, keys, causal));
}

TypedAttention attentionCall(const ExperimentSpec& spec)
{
    return {attentionOf(spec), typeOf(spec.precision)};
}

std::unique_ptr<AttentionMemory> makeAttention(Backend backend, const TypedAttention& shape,
                                               const TargetDevice& device, Ops& ops)
{
    switch (backend) {
    case Backend::Naive:
        return makeNaiveAttention(shape, ops);
    case Backend::FlashTorch:
        return makeTiledAttention(shape, ops);
    case Backend::Flash:
        return makeFlashAttention(shape, device, ops);
    case Backend::FlashFp8:
        return makeFp8Attention(shape, ops);
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
