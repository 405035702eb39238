#include "core/engine/lm/split_product.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace tilescope::engine {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kParts = 3;
constexpr std::int64_t kCopies = 6;

Tensor splitCopies(const Tensor& x, std::int64_t copies, bool left, bool below)
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::split_bf16", "")
                                 .typed<Tensor(const Tensor&, std::int64_t, bool, bool)>();
    return call.call(x, copies, left, below);
}

/// Converts parts on a CPU to fp32, because products of bf16 matrices there have bf16 results.
Tensor factor(const Tensor& parts)
{
    return parts.is_cuda() ? parts : parts.to(at::kFloat);
}

Tensor bf16Parts(const Tensor& x, std::int64_t copies, bool left, bool below)
{
    return factor(splitCopies(x, copies, left, below));
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

/// Multiplies three copies of parts, each with `inner` columns, by three products: parts 2 1 0 times 0 1 2,
/// then 1 0 times 0 1, then 0 times 0.
void multiplyParts(Tensor& target, ProductTarget how, const Tensor& left, const Tensor& right,
                   std::int64_t inner)
{
    for (std::int64_t skipped = 0; skipped < kParts; ++skipped) {
        const std::int64_t width = (kParts - skipped) * inner;
        multiplyInto(target, skipped == 0 ? how : ProductTarget::Add, left.narrow(1, skipped * inner, width),
                     right.narrow(0, 0, width), ProductChoice::LibTorch);
    }
}

/// Whether one product of six copies is better than three products of three copies: it reads and writes the
/// target once, but twice as many parts.
bool repeatsParts(const Tensor& target, const Tensor& a, const Tensor& b)
{
    constexpr std::int64_t kTargetBytes = 16;
    constexpr std::int64_t kPartBytes = 6;
    return kTargetBytes * target.numel() > kPartBytes * (a.numel() + b.numel());
}

/// Whether splitting the weight again for one product of six copies moves fewer bytes than `products`
/// products of kept parts, each of which after the first reads and writes the target once more.
bool splitsAgain(const Tensor& target, const Tensor& a, const Tensor& weight, std::int64_t products)
{
    constexpr std::int64_t kTargetBytes = 8;
    constexpr std::int64_t kPartBytes = 6;
    constexpr std::int64_t kWeightBytes = 16;
    return (products - 1) * kTargetBytes * target.numel() >
           kPartBytes * a.numel() + kWeightBytes * weight.numel();
}

Tensor splitMmForward(const Tensor& a, const Tensor& b)
{
    Tensor product = at::empty({a.size(0), b.size(1)}, a.options());
    splitMmInto(product, ProductTarget::Set, a, b);
    return product;
}

struct SplitMm : torch::autograd::Function<SplitMm> {
    static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b)
    {
        context->save_for_backward({a, b});
        const at::AutoDispatchBelowADInplaceOrView below;
        return splitMmForward(a, b);
    }
    // If a weight is stored transposed, its gradient is computed transposed, so that both have the same
    // layout.
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

void splitMmInto(Tensor& target, ProductTarget how, const Tensor& a, const Tensor& b)
{
    const std::int64_t inner = a.size(1);
    const bool repeats = repeatsParts(target, a, b);
    const Tensor left = leftParts(a, repeats ? kCopies : kParts);
    const Tensor right = rightParts(b, repeats ? kCopies : kParts);
    if (repeats)
        return multiplyInto(target, how, left, right, ProductChoice::LibTorch);
    multiplyParts(target, how, left, right, inner);
}

WeightParts::WeightParts(const Tensor& weight) : parts(splitCopies(weight.t(), kParts, false, false)) {}

Tensor splitMm(const Tensor& x, const Tensor& weight, const WeightParts& parts)
{
    const at::AutoDispatchBelowADInplaceOrView below;
    Tensor product = at::empty({x.size(0), weight.size(1)}, x.options());
    if (splitsAgain(product, x, weight, kParts)) {
        splitMmInto(product, ProductTarget::Set, x, weight);
        return product;
    }
    const Tensor left = leftParts(x, kParts);
    const Tensor right = factor(parts.parts);
    multiplyParts(product, ProductTarget::Set, left, right.t(), x.size(1));
    return product;
}

// The parts of a weight's row are side by side, so those of a column are strided. Therefore each of the six
// products of parts is computed separately.
void splitInputGradientInto(Tensor& target, const Tensor& gradient, const Tensor& weight,
                            const WeightParts& parts)
{
    const at::AutoDispatchBelowADInplaceOrView below;
    if (splitsAgain(target, gradient, weight, kCopies))
        return splitMmInto(target, ProductTarget::Set, gradient, weight.t());
    const std::int64_t out = gradient.size(1);
    const Tensor left = leftParts(gradient, kParts); // 2 1 0
    const Tensor right = factor(parts.parts).view({out, kParts, target.size(1)});
    ProductTarget how = ProductTarget::Set;
    for (std::int64_t sum = kParts - 1; sum >= 0; --sum)
        for (std::int64_t part = 0; part <= sum; ++part) {
            const std::int64_t leftPart = sum - part;
            multiplyInto(target, std::exchange(how, ProductTarget::Add),
                         left.narrow(1, (kParts - 1 - leftPart) * out, out), right.select(1, part),
                         ProductChoice::LibTorch);
        }
}

} // namespace tilescope::engine
