#include "core/engine/attention/attention.h"

#include "core/engine/common/failure.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace tilescope::engine {
namespace {

// The kernels of kernels/, called through LibTorch's dispatcher so that the engine builds without them.
class FlashAttention final : public AttentionBackend {
public:
    FlashAttention(const AttentionSpec& spec, const c10::OperatorHandle& op) : spec_(spec), op_(op) {}

    at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override
    {
        torch::jit::Stack stack{q, k, v, spec_.causal, spec_.scale};
        stack.emplace_back(spec_.allowTf32 ? "tf32" : "ieee");
        stack.emplace_back(spec_.deterministic);
        op_.callBoxed(stack);
        return std::move(stack.front()).toTensor();
    }

private:
    AttentionSpec spec_;
    c10::OperatorHandle op_;
};

} // namespace

std::unique_ptr<AttentionBackend> makeFlashAttention(const AttentionSpec& spec)
{
    const auto op = c10::Dispatcher::singleton().findSchema({"tilescope::attention", ""});
    if (!op)
        throw Unsupported{"this program was built without Tilescope's attention kernels"};
    return std::make_unique<FlashAttention>(spec, *op);
}

std::unique_ptr<AttentionBackend> makeAttention(Backend backend, const AttentionSpec& spec,
                                                const at::TensorOptions& inputs)
{
    switch (backend) {
    case Backend::Naive:
        return makeNaiveAttention(spec, inputs);
    case Backend::FlashTorch:
        return makeTiledAttention(spec, inputs);
    case Backend::Flash:
        return makeFlashAttention(spec);
    case Backend::FlashFp8:
        return makeFp8Attention(spec, inputs);
    case Backend::Sdpa:
    case Backend::SdpaFlash:
    case Backend::SdpaEfficient:
    case Backend::SdpaCudnn:
    case Backend::SdpaMath:
        return makeSdpaAttention(backend, spec, inputs);
    }
    throw Unsupported{"unknown attention backend"};
}

} // namespace tilescope::engine
