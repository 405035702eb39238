#include "core/engine/parallel/gradient_groups.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

namespace tilescope::engine {

class GradientGroups::Hook final : public torch::autograd::PostAccumulateGradHook {
public:
    Hook(GradientGroups& groups, std::size_t group) : groups_(groups), group_(group) {}
    void operator()(const torch::autograd::Variable& /*parameter*/) override
    {
        groups_.gradientReady(group_);
    }

private:
    GradientGroups& groups_;
    std::size_t group_;
};

GradientGroups::GradientGroups(std::vector<std::vector<at::Tensor>> groups,
                               std::function<void(std::size_t)> ready)
    : tilescope::GradientGroups<at::Tensor>(std::move(groups), std::move(ready))
{
    for (std::size_t i = 0; i < count(); ++i)
        for (const at::Tensor& parameter : group(i))
            torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(*this, i));
}

GradientGroups::~GradientGroups()
{
    for (std::size_t i = 0; i < count(); ++i)
        for (const at::Tensor& parameter : group(i))
            torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientGroups::requireAll() const
{
    TORCH_CHECK(areComplete(), "backward made no gradient for some parameters");
}

void GradientGroups::gradientMade(const at::Tensor& parameter)
{
    TORCH_CHECK(gradientReadyOf([&](const at::Tensor& each) { return each.is_same(parameter); }),
                "no gradient of this parameter was awaited");
}

} // namespace tilescope::engine
