#include "core/engine/lm/lm_functions.h"

#include "core/engine/common/annotation.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tilescope::engine {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

// Views real (batch·N, 3·heads·d) as complex (3, batch, heads, N, d/2).
Tensor complexByHead(const Tensor& packed, at::IntArrayRef shape)
{
    return at::view_as_complex(packed.view({shape[1], shape[3], 3, shape[2], shape[4], 2}))
        .permute({2, 0, 3, 1, 4});
}

std::array<Tensor, 3> splitHeadsForward(const Tensor& qkv, const Tensor& rotation, bool grouped)
{
    const auto shape = rotation.sizes();
    const at::ScalarType real = c10::toRealValueType(rotation.scalar_type());
    Tensor out = at::empty({3, shape[1], shape[2], shape[3], 2 * shape[4]}, qkv.options().dtype(real));
    Tensor turned = at::view_as_complex(out.view({3, shape[1], shape[2], shape[3], shape[4], 2}));
    // One kernel rotates and moves heads to the front, because the multiplication reads and writes through
    // views.
    at::mul_out(turned, complexByHead(qkv.to(real), shape), rotation);
    if (out.scalar_type() != qkv.scalar_type())
        out = out.to(qkv.scalar_type());
    if (grouped)
        out = out.view({3, shape[1] * shape[2], shape[3], 2 * shape[4]});
    return {out.select(0, 0), out.select(0, 1), out.select(0, 2)};
}

Tensor splitHeadsBackward(const variable_list& grads, const Tensor& rotation)
{
    const auto shape = rotation.sizes();
    const at::ScalarType real = c10::toRealValueType(rotation.scalar_type());
    const Tensor& any = grads[0].defined() ? grads[0] : grads[1].defined() ? grads[1] : grads[2];
    Tensor packed = at::empty({shape[1] * shape[3], 6 * shape[2] * shape[4]}, any.options().dtype(real));
    Tensor byHead = complexByHead(packed, shape);
    for (std::int64_t i = 0; i < 3; ++i) {
        Tensor target = byHead.select(0, i);
        if (!grads[i].defined()) {
            target.zero_();
            continue;
        }
        const Tensor grad = grads[i].to(real).contiguous().view({shape[1], shape[2], shape[3], shape[4], 2});
        if (i == 2)
            target.copy_(at::view_as_complex(grad));
        else
            at::mul_out(target, at::view_as_complex(grad), rotation.select(0, i));
    }
    return packed.to(any.scalar_type());
}

struct SplitHeads : torch::autograd::Function<SplitHeads> {
    static variable_list forward(AutogradContext* context, const Tensor& qkv, const Rotation& rotation,
                                 bool grouped)
    {
        context->save_for_backward({rotation.backward});
        const BelowAutograd below;
        const auto heads = splitHeadsForward(qkv, rotation.forward, grouped);
        return {heads[0], heads[1], heads[2]};
    }
    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const auto saved = context->get_saved_variables();
        const BelowAutograd below;
        return {splitHeadsBackward(grads, saved[0]), Tensor(), Tensor()};
    }
};

Tensor mergeHeadsForward(const Tensor& o, std::int64_t batch, std::int64_t heads)
{
    const std::int64_t length = o.size(-2);
    const std::int64_t headDim = o.size(-1);
    const Tensor byHead = o.dim() == 4 ? o : o.view({batch, heads, length, headDim});
    return byHead.transpose(1, 2).reshape({batch * length, heads * headDim});
}

struct MergeHeads : torch::autograd::Function<MergeHeads> {
    static Tensor forward(AutogradContext* context, const Tensor& o, std::int64_t batch, std::int64_t heads)
    {
        context->saved_data["grouped"] = o.dim() == 3;
        context->saved_data["batch"] = batch;
        context->saved_data["heads"] = heads;
        const BelowAutograd below;
        return mergeHeadsForward(o, batch, heads);
    }
    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const std::int64_t batch = context->saved_data["batch"].toInt();
        const std::int64_t heads = context->saved_data["heads"].toInt();
        const BelowAutograd below;
        const Tensor& grad = grads[0];
        const std::int64_t length = grad.size(0) / batch;
        const std::int64_t headDim = grad.size(1) / heads;
        Tensor byHead = grad.view({batch, length, heads, headDim}).transpose(1, 2);
        if (context->saved_data["grouped"].toBool())
            byHead = byHead.reshape({batch * heads, length, headDim});
        return {byHead, Tensor(), Tensor()};
    }
};

struct Swiglu : torch::autograd::Function<Swiglu> {
    static Tensor forward(AutogradContext* context, const Tensor& x)
    {
        Tensor activated;
        Tensor y;
        {
            const BelowAutograd below;
            const std::int64_t width = x.size(1) / 2;
            activated = at::silu(x.narrow(1, 0, width));
            y = at::mul(activated, x.narrow(1, width, width));
        }
        context->save_for_backward({x, activated});
        return y;
    }
    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const auto saved = context->get_saved_variables();
        const BelowAutograd below;
        const Tensor& x = saved[0];
        const std::int64_t width = x.size(1) / 2;
        Tensor gradX = at::empty_like(x);
        Tensor gradGate = gradX.narrow(1, 0, width);
        Tensor gradUp = gradX.narrow(1, width, width);
        at::mul_out(gradUp, grads[0], saved[1]);
        at::mul_out(gradGate, grads[0], x.narrow(1, width, width));
        at::silu_backward_out(gradGate, gradGate, x.narrow(1, 0, width));
        return {gradX};
    }
};

} // namespace

Rotation makeRotation(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t headDim,
                      double theta, double scale, at::TensorOptions options)
{
    const auto real = at::dtype(at::kDouble);
    const Tensor frequency =
        at::pow(theta, at::arange(0, headDim, 2, real).div_(-static_cast<double>(headDim)));
    const Tensor angle = at::outer(at::arange(length, real), frequency);
    const Tensor turn = at::complex(at::cos(angle), at::sin(angle));
    const Tensor table = at::stack({at::mul(turn, scale), turn, at::ones_like(turn)});
    const auto complexOptions = options.dtype(c10::toComplexType(c10::typeMetaToScalarType(options.dtype())));
    const auto expanded = [&](const Tensor& t) {
        return t.to(complexOptions)
            .view({3, 1, 1, length, headDim / 2})
            .expand({3, batch, heads, length, headDim / 2});
    };
    return {expanded(table), expanded(at::conj_physical(table))};
}

std::array<Tensor, 3> splitHeads(const Tensor& qkv, const Rotation& rotation, bool grouped)
{
    const NamedOp op("tilescope::split_heads");
    if (at::GradMode::is_enabled()) {
        auto heads = SplitHeads::apply(qkv, rotation, grouped);
        return {std::move(heads[0]), std::move(heads[1]), std::move(heads[2])};
    }
    const BelowAutograd below;
    return splitHeadsForward(qkv, rotation.forward, grouped);
}

Tensor mergeHeads(const Tensor& o, std::int64_t batch, std::int64_t heads)
{
    const NamedOp op("tilescope::merge_heads");
    if (at::GradMode::is_enabled())
        return MergeHeads::apply(o, batch, heads);
    const BelowAutograd below;
    return mergeHeadsForward(o, batch, heads);
}

Tensor swiGlu(const Tensor& x)
{
    const NamedOp op("tilescope::swiglu");
    if (at::GradMode::is_enabled())
        return Swiglu::apply(x);
    const BelowAutograd below;
    const std::int64_t width = x.size(1) / 2;
    return at::silu(x.narrow(1, 0, width)).mul_(x.narrow(1, width, width));
}

} // namespace tilescope::engine
