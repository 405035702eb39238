#include "core/engine/attention/attention.h"

#include "core/engine/common/failure.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace tilescope::engine {
namespace {

// The kernels of kernels/, called through LibTorch's dispatcher so that the engine builds without them.
class FlashAttention final : public AttentionBackend {
public:
    FlashAttention(const AttentionCall& problem, const c10::OperatorHandle& op) : problem_(problem), op_(op)
    {
    }

    at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override
    {
        torch::jit::Stack stack{q, k, v, problem_.causal, problem_.scale};
        stack.emplace_back(problem_.allowTf32 ? "tf32" : "ieee");
        stack.emplace_back(problem_.deterministic);
        op_.callBoxed(stack);
        return std::move(stack.front()).toTensor();
    }

private:
    AttentionCall problem_;
    c10::OperatorHandle op_;
};

} // namespace

std::unique_ptr<AttentionBackend> makeFlashAttention(const AttentionCall& problem)
{
    const auto op = c10::Dispatcher::singleton().findSchema({"tilescope::attention", ""});
    if (!op)
        throw Unsupported{"this program was built without Tilescope's attention kernels"};
    return std::make_unique<FlashAttention>(problem, *op);
}

std::unique_ptr<AttentionBackend> makeAttention(Backend backend, const AttentionCall& problem)
{
    switch (backend) {
    case Backend::Naive:
        return makeNaiveAttention(problem);
    case Backend::FlashTorch:
        return makeTiledAttention(problem);
    case Backend::Flash:
        return makeFlashAttention(problem);
    case Backend::FlashFp8:
        return makeFp8Attention(problem);
    case Backend::Sdpa:
    case Backend::SdpaFlash:
    case Backend::SdpaEfficient:
    case Backend::SdpaCudnn:
    case Backend::SdpaMath:
        return makeSdpaAttention(backend, problem);
    }
    throw Unsupported{"unknown attention backend"};
}

} // namespace tilescope::engine
