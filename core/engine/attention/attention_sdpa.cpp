#include "core/engine/attention/attention.h"
#include "core/engine/common/failure.h"
#include "core/engine/common/set_up.h"
#include "core/model/attention_backend.h"
#include "core/model/text.h"

#include <ATen/Context.h>
#include <ATen/native/transformers/cuda/sdp_utils.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr const char* kMask = "attention/mask";

// LibTorch reports only in warnings why a kernel does not support a problem.
class WarningCollector final : public c10::WarningHandler {
public:
    void process(const c10::Warning& warning) override
    {
        if (first_.empty())
            first_ = warning.msg();
    }
    const std::string& first() const { return first_; }

private:
    std::string first_;
};

// Restricts LibTorch's choice to one kernel.
class OnlyKernel {
public:
    explicit OnlyKernel(TorchKernel kernel)
    {
        auto& context = at::globalContext();
        context.setSDPUseFlash(kernel == TorchKernel::Flash);
        context.setSDPUseMemEfficient(kernel == TorchKernel::Efficient);
        context.setSDPUseCuDNN(kernel == TorchKernel::Cudnn);
        context.setSDPUseMath(kernel == TorchKernel::Math);
    }
    ~OnlyKernel()
    {
        auto& context = at::globalContext();
        context.setSDPUseFlash(flash_);
        context.setSDPUseMemEfficient(efficient_);
        context.setSDPUseCuDNN(cudnn_);
        context.setSDPUseMath(math_);
    }
    OnlyKernel(const OnlyKernel&) = delete;
    OnlyKernel& operator=(const OnlyKernel&) = delete;

private:
    bool flash_ = at::globalContext().userEnabledFlashSDP();
    bool efficient_ = at::globalContext().userEnabledMemEfficientSDP();
    bool cudnn_ = at::globalContext().userEnabledCuDNNSDP();
    bool math_ = at::globalContext().userEnabledMathSDP();
};

// PyTorch's scaled_dot_product_attention: its default choice of kernel, or one kernel by name.
//
// PyTorch aligns causal masks top left, Tilescope bottom right. Both agree for square problems. With more
// queries than keys, queries that see no key are left out and their output is set to zero; with more keys
// than queries, the mask is passed explicitly.
class SdpaAttention final : public AttentionBackend {
public:
    SdpaAttention(const BackendTraits& traits, const AttentionSpec& spec, const at::TensorOptions& inputs);

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override;

    void visitHeld(const HoldVisitor& visit) const override { visit(MemoryCategory::Inputs, kMask, mask_); }

private:
    Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) const;
    Tensor dispatched(const Tensor& q, const Tensor& k, const Tensor& v) const;
    void requireCuda() const;
    void requireKernelTakes() const;

    const BackendTraits& traits_;
    AttentionSpec spec_;
    at::TensorOptions inputs_;   // device and dtype of q, k and v
    std::int64_t blankRows_ = 0; // number of leading queries that see no key
    bool causal_ = false;        // the flag passed to PyTorch; false if mask_ is used
    Tensor mask_;                // (queries, keys): true: visible
};

SdpaAttention::SdpaAttention(const BackendTraits& traits, const AttentionSpec& spec,
                             const at::TensorOptions& inputs)
    : traits_(traits), spec_(spec), inputs_(inputs)
{
    const std::int64_t offset = spec.keys - spec.queries;
    // A single query sees every key, so it needs no mask.
    const bool causal = spec.causal && spec.queries > 1;
    blankRows_ = spec.causal && offset < 0 ? -offset : 0;
    causal_ = causal && offset <= 0;
    if (causal && offset > 0) {
        const Making making(MemoryCategory::Inputs, kMask);
        mask_ = at::ones({spec.queries, spec.keys}, inputs.dtype(at::kBool)).tril_(offset);
    }
    requireCuda();
    requireKernelTakes();
}

void SdpaAttention::requireCuda() const
{
    if (traits_.needsCuda && !inputs_.device().is_cuda())
        throw Unsupported{
            c10::str(traits_.name, " is a CUDA kernel of PyTorch and this point runs on the CPU")};
}

// Asks LibTorch, with temporary tensors of the problem's shape, whether the kernel supports it.
void SdpaAttention::requireKernelTakes() const
{
    const std::optional<TorchKernel> kernel = traits_.torchKernel;
    if (!inputs_.device().is_cuda() || !kernel || kernel == TorchKernel::Math)
        return;
    const auto& p = spec_;
    Tensor q = at::empty({p.batch, p.heads, p.queries - blankRows_, p.headDim}, inputs_);
    Tensor k = at::empty({p.batch, p.kvHeads, p.keys, p.headDim}, inputs_);
    Tensor v = at::empty_like(k);
    for (Tensor* t : {&q, &k, &v})
        t->set_requires_grad(p.needsGrad);
    const sdp::sdp_params params{
        q, k, v, mask_.defined() ? std::optional(mask_) : std::nullopt, 0.0, causal_, p.heads != p.kvHeads};

    WarningCollector warnings;
    const c10::WarningUtils::WarningHandlerGuard collect(&warnings);
    const c10::WarningUtils::WarnAlways always(true);
    const OnlyKernel only(*kernel);
    const bool taken = kernel == TorchKernel::Flash       ? sdp::can_use_flash_attention(params, true)
                       : kernel == TorchKernel::Efficient ? sdp::can_use_mem_efficient_attention(params, true)
                                                          : sdp::can_use_cudnn_attention(params, true);
    if (!taken)
        throw Unsupported{
            c10::str("PyTorch's ", traits_.name, " does not take this: ",
                     warnings.first().empty() ? "no reason given" : condensed(warnings.first()))};
}

Tensor SdpaAttention::apply(const Tensor& q, const Tensor& k, const Tensor& v)
{
    if (blankRows_ == 0)
        return attend(q, k, v);
    const Tensor o = attend(q.narrow(2, blankRows_, spec_.keys), k, v);
    return at::constant_pad_nd(o, {0, 0, blankRows_, 0});
}

Tensor SdpaAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v) const
{
    const bool keepLse = spec_.needsGrad && at::GradMode::is_enabled();
    if (mask_.defined() || !traits_.torchKernel)
        return dispatched(q, k, v);
    switch (*traits_.torchKernel) {
    case TorchKernel::Flash:
        if (!inputs_.device().is_cuda())
            return std::get<0>(
                at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal_, {}, spec_.scale));
        return std::get<0>(
            at::_scaled_dot_product_flash_attention(q, k, v, 0.0, causal_, false, spec_.scale));
    case TorchKernel::Efficient:
        return std::get<0>(
            at::_scaled_dot_product_efficient_attention(q, k, v, {}, keepLse, 0.0, causal_, spec_.scale));
    case TorchKernel::Cudnn:
        return std::get<0>(
            at::_scaled_dot_product_cudnn_attention(q, k, v, {}, keepLse, 0.0, causal_, false, spec_.scale));
    case TorchKernel::Math:
        break;
    }
    return dispatched(q, k, v);
}

// Through PyTorch's public function, which pads head dims and masks as the kernels require.
Tensor SdpaAttention::dispatched(const Tensor& q, const Tensor& k, const Tensor& v) const
{
    std::optional<OnlyKernel> only;
    if (traits_.torchKernel)
        only.emplace(*traits_.torchKernel);
    return at::scaled_dot_product_attention(q, k, v, mask_.defined() ? std::optional(mask_) : std::nullopt,
                                            0.0, causal_, spec_.scale, spec_.heads != spec_.kvHeads);
}

} // namespace

std::unique_ptr<AttentionBackend> makeSdpaAttention(Backend backend, const AttentionSpec& spec,
                                                    const at::TensorOptions& inputs)
{
    return std::make_unique<SdpaAttention>(traitsOf(backend), spec, inputs);
}

} // namespace tilescope::engine
