#include "core/engine/lm/recomputation.h"

#include "core/engine/common/annotation.h"
#include "core/engine/common/autocast.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tilescope::engine {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::optional<at::ScalarType> autocastInForce(at::DeviceType device)
{
    if (!at::autocast::is_autocast_enabled(device))
        return {};
    return at::autocast::get_autocast_dtype(device);
}

RecomputationObserver& recomputationObserver()
{
    static RecomputationObserver observer;
    return observer;
}

struct Recompute : torch::autograd::Function<Recompute> {
    static Tensor forward(AutogradContext* context, const Tensor& a, const std::optional<Tensor>& b,
                          const std::optional<Tensor>& c, const RecomputedPart* part)
    {
        const std::array<Tensor, 3> inputs{a, b.value_or(Tensor()), c.value_or(Tensor())};
        context->save_for_backward({inputs.begin(), inputs.end()});
        context->saved_data["part"] = reinterpret_cast<std::int64_t>(part);
        if (const auto dtype = autocastInForce(a.device().type()))
            context->saved_data["autocast"] = static_cast<std::int64_t>(*dtype);
        return (*part)(inputs); // custom functions run without grad mode
    }

    static variable_list backward(AutogradContext* context, variable_list grads)
    {
        const auto* part = reinterpret_cast<const RecomputedPart*>(context->saved_data["part"].toInt());
        variable_list saved = context->get_saved_variables();
        std::array<Tensor, 3> inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (saved[i].defined())
                inputs[i] = saved[i].detach().set_requires_grad(saved[i].requires_grad());
        std::optional<at::ScalarType> dtype;
        if (const auto found = context->saved_data.find("autocast"); found != context->saved_data.end())
            dtype = static_cast<at::ScalarType>(found->second.toInt());

        Tensor output;
        {
            const at::AutoGradMode recording(true);
            const AutocastScope autocast(inputs[0].device().type(), dtype);
            output = (*part)(inputs);
        }
        if (recomputationObserver())
            recomputationObserver()(output);
        // Gradients of parameters are accumulated directly; those of the inputs are returned.
        torch::autograd::backward({output}, {grads[0]});
        variable_list result;
        for (const Tensor& input : inputs)
            result.push_back(input.defined() ? input.grad() : Tensor());
        result.emplace_back();
        return result;
    }
};

} // namespace

void observeRecomputation(RecomputationObserver observer)
{
    recomputationObserver() = std::move(observer);
}

Tensor recomputedInBackward(const RecomputedPart& part, const std::array<Tensor, 3>& inputs)
{
    if (!at::GradMode::is_enabled())
        return part(inputs);
    const NamedOp op("tilescope::recomputed");
    const auto given = [](const Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; };
    return Recompute::apply(inputs[0], given(inputs[1]), given(inputs[2]), &part);
}

} // namespace tilescope::engine
