#include "core/engine/lm/split_product.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tilescope::engine {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kParts = 3;
constexpr std::int64_t kCopies = 6;

Tensor bf16Parts(const Tensor& x, std::int64_t copies, bool left, bool below)
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::split_bf16", "")
                                 .typed<Tensor(const Tensor&, std::int64_t, bool, bool)>();
    const Tensor parts = call.call(x, copies, left, below);
    // The processor's products of bf16 matrices give bf16.
    return x.is_cuda() ? parts : parts.to(at::kFloat);
}

/// The parts of a left factor (m, k) as (m, copies k).
Tensor leftParts(const Tensor& a, std::int64_t copies)
{
    if (!a.is_contiguous() && a.t().is_contiguous())
        return bf16Parts(a.t(), copies, true, true).t();
    return bf16Parts(a.contiguous(), copies, true, false);
}

/// The parts of a right factor (k, n) as (copies k, n).
Tensor rightParts(const Tensor& b, std::int64_t copies)
{
    if (!b.is_contiguous() && b.t().is_contiguous())
        return bf16Parts(b.t(), copies, false, false).t();
    return bf16Parts(b.contiguous(), copies, false, true);
}

void multiply(Tensor& target, SplitTarget how, const Tensor& a, const Tensor& b)
{
    if (!a.is_cuda()) {
        if (how == SplitTarget::Set)
            at::mm_out(target, a, b);
        else
            target.addmm_(a, b);
    } else if (how == SplitTarget::Set) {
        at::mm_out(target, a, b, at::kFloat);
    } else {
        at::addmm_out(target, target, a, b, at::kFloat);
    }
}

/// One product of six copies reads and writes the target once; three products of three copies write half as many parts.
bool repeatsParts(const Tensor& target, const Tensor& a, const Tensor& b)
{
    constexpr std::int64_t kTargetBytes = 16;
    constexpr std::int64_t kPartBytes = 6;
    return kTargetBytes * target.numel() > kPartBytes * (a.numel() + b.numel());
}

Tensor splitMmForward(const Tensor& a, const Tensor& b)
{
    Tensor product = at::empty({a.size(0), b.size(1)}, a.options());
    splitMmInto(product, SplitTarget::Set, a, b);
    return product;
}

struct SplitMm : torch::autograd::Function<SplitMm> {
    static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b)
    {
        context->save_for_backward({a, b});
        const at::AutoDispatchBelowADInplaceOrView below;
        return splitMmForward(a, b);
    }
    // The gradient of a weight that is stored transposed is computed transposed, so that it has the weight's layout.
    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const auto saved = context->get_saved_variables();
        const at::AutoDispatchBelowADInplaceOrView below;
        const Tensor gradient = grads[0].contiguous();
        Tensor gradB = splitMmForward(gradient.t(), saved[0]).t();
        Tensor gradA = splitMmForward(gradient, saved[1].t());
        return {gradA, gradB};
    }
};

} // namespace

Tensor splitMm(const Tensor& a, const Tensor& b)
{
    if (at::GradMode::is_enabled())
        return SplitMm::apply(a, b);
    const at::AutoDispatchBelowADInplaceOrView below;
    return splitMmForward(a, b);
}

void splitMmInto(Tensor& target, SplitTarget how, const Tensor& a, const Tensor& b)
{
    const std::int64_t inner = a.size(1);
    const bool repeats = repeatsParts(target, a, b);
    const Tensor left = leftParts(a, repeats ? kCopies : kParts);
    const Tensor right = rightParts(b, repeats ? kCopies : kParts);
    if (repeats)
        return multiply(target, how, left, right);
    // Parts 2 1 0 times 0 1 2, then 1 0 times 0 1, then 0 times 0.
    for (std::int64_t skipped = 0; skipped < kParts; ++skipped) {
        const std::int64_t width = (kParts - skipped) * inner;
        multiply(target, skipped == 0 ? how : SplitTarget::Add, left.narrow(1, skipped * inner, width),
                 right.narrow(0, 0, width));
    }
}

} // namespace tilescope::engine
