#include "core/engine/lm/adamw.h"

#include "core/engine/common/set_up.h"

#include <ATen/ATen.h>

namespace tilescope::engine {
namespace {

// The defaults of torch.amp.GradScaler.
constexpr double kInitialScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

} // namespace

at::Tensor rowMajor(const at::Tensor& t)
{
    return t.is_contiguous() ? t : t.t();
}

AdamW::AdamW(const std::vector<NamedTensor>& parameters, at::Device device, bool scaleLoss)
    : scaled_(scaleLoss)
{
    const auto options = at::device(device).dtype(at::kFloat);
    const auto zerosFor = [](const std::string& name, const at::Tensor& like) {
        const Making making(MemoryCategory::Optimizer, name);
        return at::zeros_like(like);
    };
    for (const auto& [name, parameter] : parameters) {
        names_.push_back(name);
        parameters_.push_back(parameter);
        updated_.push_back(rowMajor(parameter.detach()));
        firstMoments_.push_back(zerosFor(name + kFirstMoment, updated_.back()));
        secondMoments_.push_back(zerosFor(name + kSecondMoment, updated_.back()));
    }
    const Making making(MemoryCategory::Optimizer, "counters");
    steps_ = at::zeros({}, options);
    stepOfEach_.assign(parameters.size(), steps_);
    lossScale_ = at::full({}, scaleLoss ? kInitialScale : 1.0, options);
    growthTracker_ = at::zeros({}, options.dtype(at::kInt));
    foundInf_ = at::zeros({}, options);
}

void AdamW::visitHeld(const HoldVisitor& visit) const
{
    for (std::size_t i = 0; i < names_.size(); ++i) {
        visit(MemoryCategory::Optimizer, names_[i] + kFirstMoment, firstMoments_[i]);
        visit(MemoryCategory::Optimizer, names_[i] + kSecondMoment, secondMoments_[i]);
    }
    visit(MemoryCategory::Optimizer, "step count", steps_);
    visit(MemoryCategory::Optimizer, "loss scale", lossScale_);
    visit(MemoryCategory::Optimizer, "growth tracker", growthTracker_);
    visit(MemoryCategory::Optimizer, "found inf", foundInf_);
}

std::vector<at::Tensor> AdamW::gradients()
{
    std::vector<at::Tensor> gradients;
    gradients.reserve(parameters_.size());
    for (const at::Tensor& parameter : parameters_)
        gradients.push_back(rowMajor(parameter.grad()));
    return gradients;
}

void AdamW::step()
{
    const at::NoGradGuard noGrad;
    const std::vector<at::Tensor> grads = gradients();
    steps_.add_(1);
    if (scaled_) {
        foundInf_.zero_();
        if (!grads.empty())
            at::_amp_foreach_non_finite_check_and_unscale_(grads, foundInf_, lossScale_.reciprocal());
        if (check_)
            check_(foundInf_);
        // A skipped update must not increase the step count of the moments.
        steps_.sub_(foundInf_);
    }
    if (!grads.empty())
        at::_fused_adamw_(updated_, grads, firstMoments_, secondMoments_, {}, stepOfEach_, kLearningRate,
                          kBeta1, kBeta2, kWeightDecay, kEpsilon, false, false, {},
                          scaled_ ? std::optional(foundInf_) : std::nullopt);
    if (scaled_)
        at::_amp_update_scale_(lossScale_, growthTracker_, foundInf_, kGrowth, kBackoff, kGrowthInterval);
}

} // namespace tilescope::engine
