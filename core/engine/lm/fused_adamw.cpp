#include "core/engine/lm/fused_adamw.h"

#include "core/engine/common/set_up.h"
#include "core/engine/lm/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>

namespace tilescope::engine {

namespace {

using AdamwOp = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     const at::Tensor&, double, double, double, double, double);

using AdamwProductOp = void(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                            const at::Tensor&, const at::Tensor&, const at::Tensor&, double, double, double,
                            double, double);

/// Arguments of the op: parameters of one type.
struct Group {
    std::vector<at::Tensor> weights, remainders, gradients, firstMoments, secondMoments;
};

} // namespace

FusedAdamW::FusedAdamW(std::vector<FusedOps::Tensor> parameters, const std::vector<std::string>& names)
    : parameters_(std::move(parameters))
{
    const auto zerosFor = [](const std::string& name, const at::Tensor& like) {
        const Making making(MemoryCategory::Optimizer, name);
        return at::zeros_like(like, like.scalar_type() == at::kBFloat16 ? at::kFloat : like.scalar_type());
    };
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const at::Tensor weight = rowMajor(parameters_[i]->data);
        moments_[parameters_[i].get()] = {zerosFor(names[i] + kFirstMoment, weight),
                                          zerosFor(names[i] + kSecondMoment, weight)};
    }
    const Making making(MemoryCategory::Optimizer, "counters");
    steps_ = at::zeros({}, at::device(parameters_.front()->data.device()).dtype(at::kFloat));
}

void FusedAdamW::visitHeld(const std::vector<std::string>& names, const HoldVisitor& visit) const
{
    for (std::size_t i = 0; i < names.size(); ++i) {
        visit(MemoryCategory::Optimizer, names[i] + kFirstMoment, momentsOf(parameters_[i]).first);
        visit(MemoryCategory::Optimizer, names[i] + kSecondMoment, momentsOf(parameters_[i]).second);
    }
    visit(MemoryCategory::Optimizer, "step count", steps_);
}

void FusedAdamW::begin()
{
    steps_.add_(1);
}

void FusedAdamW::updateEach(const std::vector<FusedOps::Tensor>& parameters)
{
    static const auto call =
        c10::Dispatcher::singleton().findSchemaOrThrow("tilescope::adamw_", "").typed<AdamwOp>();
    Group whole;
    Group split;
    for (const FusedOps::Tensor& parameter : parameters) {
        const bool isSplit = parameter->remainder.defined();
        Group& group = isSplit ? split : whole;
        group.weights.push_back(rowMajor(parameter->data));
        if (isSplit)
            group.remainders.push_back(parameter->remainder);
        group.gradients.push_back(rowMajor(parameter->grad));
        group.firstMoments.push_back(momentsOf(parameter).first);
        group.secondMoments.push_back(momentsOf(parameter).second);
    }
    for (const Group& group : {std::cref(whole), std::cref(split)})
        if (!group.weights.empty())
            call.call(group.weights, group.remainders, group.gradients, group.firstMoments,
                      group.secondMoments, steps_, kLearningRate, kBeta1, kBeta2, kEpsilon, kWeightDecay);
    for (const FusedOps::Tensor& parameter : parameters)
        if (parameter->quantized)
            parameter->quantized->set(parameter->data);
}

void FusedAdamW::updateWithGradient(const FusedOps::Tensor& weight, const at::Tensor& gradient,
                                    const at::Tensor& x)
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::adamw_product_", "")
                                 .typed<AdamwProductOp>();
    const Moments& moments = momentsOf(weight);
    call.call(rowMajor(weight->data), weight->remainder, moments.first, moments.second, gradient, x, steps_,
              kLearningRate, kBeta1, kBeta2, kEpsilon, kWeightDecay);
    if (weight->quantized)
        weight->quantized->set(weight->data);
}

} // namespace tilescope::engine
