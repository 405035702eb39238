#include "core/predict/attention.h"

namespace tilescope::predict {

double TypedAttention::visiblePairs() const
{
    return static_cast<double>(batch * heads) *
           static_cast<double>(tilescope::visiblePairs(queries, keys, causal));
}

TypedAttention attentionCall(const ExperimentSpec& spec)
{
    return {attentionOf(spec), autocastType(spec.precision).value_or(Type::Float32)};
}

Tensors makeGradients(const TypedAttention& shape, Ops& ops)
{
    // The evaluation order of a list depends on the compiler.
    Tensors result;
    result[0] = ops.make(shape.queryCount(), shape.type, "gradient of q");
    result[1] = ops.make(shape.keyCount(), shape.type, "gradient of k");
    result[2] = ops.make(shape.keyCount(), shape.type, "gradient of v");
    return result;
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
