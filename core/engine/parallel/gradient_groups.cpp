#include "core/engine/parallel/gradient_groups.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
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
    : groups_(std::move(groups)), ready_(std::move(ready))
{
    for (std::size_t i = 0; i < groups_.size(); ++i)
        for (const at::Tensor& parameter : groups_[i])
            torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(*this, i));
    reset();
}

GradientGroups::~GradientGroups()
{
    for (const auto& group : groups_)
        for (const at::Tensor& parameter : group)
            torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientGroups::reset()
{
    missing_.clear();
    for (const auto& group : groups_)
        missing_.push_back(group.size());
    reported_ = 0;
}

void GradientGroups::requireAll() const
{
    TORCH_CHECK(reported_ == groups_.size(), "backward made no gradient for some parameters");
}

void GradientGroups::gradientMade(const at::Tensor& parameter)
{
    const auto has = [&](const std::vector<at::Tensor>& group) {
        return std::ranges::any_of(group, [&](const at::Tensor& each) { return each.is_same(parameter); });
    };
    const auto found = std::ranges::find_if(groups_, has);
    TORCH_CHECK(found != groups_.end(), "a gradient belongs to no parameter");
    gradientReady(static_cast<std::size_t>(found - groups_.begin()));
}

void GradientGroups::gradientReady(std::size_t group)
{
    TORCH_CHECK(missing_[group] > 0, "a parameter got a second gradient in one backward");
    --missing_[group];
    while (reported_ < groups_.size() && missing_[reported_] == 0)
        ready_(reported_++);
}

std::vector<std::vector<at::Tensor>> bucketsOf(const std::vector<at::Tensor>& parameters, std::int64_t most)
{
    std::vector<std::vector<at::Tensor>> buckets;
    std::int64_t bytes = 0;
    for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
        const auto size = static_cast<std::int64_t>(parameter->nbytes());
        if (buckets.empty() || bytes + size > most) {
            buckets.emplace_back();
            bytes = 0;
        }
        buckets.back().push_back(*parameter);
        bytes += size;
    }
    return buckets;
}

} // namespace tilescope::engine
