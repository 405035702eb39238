#include "core/base/error.h"
#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/set_up.h"
#include "core/engine/lm/adamw.h"
#include "core/engine/lm/gradient_combiner.h"
#include "core/engine/lm/lm.h"
#include "core/engine/lm/token_batch.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/phases.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

std::optional<at::ScalarType> autocastDtype(Precision precision)
{
    if (precision == Precision::Bf16)
        return at::kBFloat16;
    if (precision == Precision::Fp16)
        return at::kHalf;
    return {};
}

EagerOps opsFor(const ExperimentSpec& spec, const Device& device)
{
    return {spec,
            at::device(device.torch()).dtype(at::kFloat),
            {attentionOf(spec), device.torch(), autocastDtype(spec.precision).value_or(at::kFloat)}};
}

class LmExperiment final : public Experiment {
public:
    LmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
        : spec_(spec), device_(device.torch().type()), autocast_(autocastDtype(spec.precision)),
          model_(spec, opsFor(spec, device)), batch_(spec, device.torch(), ranks), ranks_(ranks)
    {
        {
            const Making making(MemoryCategory::Inputs, "gradient of the loss");
            gradient_ = at::ones({}, at::device(device.torch()).dtype(at::kFloat));
        }
        if (spec.mode == Mode::Train) {
            optimizer_.emplace(model_.parameters(), model_.parameterNames(),
                               spec.precision == Precision::Fp16);
            gradient_ = optimizer_->lossGradient();
        }
        if (ranks_) {
            // The seed makes them equal already; a rank with another processor may round differently.
            for (const Tensor& parameter : model_.parameters())
                ranks_->broadcast(parameter.detach(), 0);
            combiner_ = makeGradientCombiner(spec, model_.parameters(), *ranks_);
        }
    }

    void dropGradients() override
    {
        for (const Tensor& parameter : model_.parameters())
            parameter.mutable_grad().reset();
    }

    void refreshInputs() override { batch_.refresh(); }

    void run(Phase phase) override
    {
        switch (phase) {
        case Phase::Forward:
            return forward();
        case Phase::Loss:
            return computeLoss();
        case Phase::Backward:
            return backward();
        case Phase::Optimizer:
            return optimizer_->step();
        case Phase::Step:
            break;
        }
    }

    void finish() override
    {
        logits_.reset();
        loss_.reset();
    }

    bool has(Phase phase) const override { return hasPhase(Workload::Lm, spec_.mode, phase); }

    std::optional<std::int64_t> parameters() const override { return parameterCount(model_); }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
            const Tensor& parameter = model_.parameters()[i];
            visit(MemoryCategory::Parameters, model_.parameterNames()[i], parameter);
            visit(MemoryCategory::Gradients, model_.parameterNames()[i], parameter.grad());
        }
        model_.ops().visitHeld(visit);
        batch_.visitHeld(visit);
        if (optimizer_)
            optimizer_->visitHeld(model_.parameterNames(), visit);
        visit(MemoryCategory::Inputs, "gradient of the loss", gradient_);
        if (combiner_)
            combiner_->visitHeld(visit);
    }

    Tensor graphRoot() const override { return loss_.defined() ? loss_ : logits_; }

    std::optional<double> loss() const override
    {
        if (!loss_.defined())
            return {};
        return loss_.item<double>();
    }

private:
    void forward()
    {
        const at::AutoGradMode grad(spec_.mode != Mode::Forward || spec_.grad);
        const AutocastScope autocast(device_, autocast_);
        logits_ = model_.forward(batch_.tokens());
    }

    void computeLoss()
    {
        const AutocastScope autocast(device_, autocast_);
        loss_ = spec_.loss == LossKind::CrossEntropy ? at::cross_entropy_loss(logits_, batch_.targets())
                                                     : at::sum(logits_);
    }

    void backward()
    {
        torch::autograd::backward({loss_}, {gradient_.to(loss_.scalar_type())});
        if (combiner_)
            combiner_->finish();
    }

    ExperimentSpec spec_;
    at::DeviceType device_;
    std::optional<at::ScalarType> autocast_;
    LanguageModel model_;
    std::optional<AdamW> optimizer_;
    TokenBatch batch_;
    Tensor gradient_; // initial gradient of backward
    Tensor logits_;
    Tensor loss_;
    Ranks* ranks_;
    std::unique_ptr<GradientCombiner>
        combiner_; // null without ranks; destroyed first: its thread uses the rest
};

} // namespace

std::unique_ptr<Experiment> makeLmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
{
    return std::make_unique<LmExperiment>(spec, device, ranks);
}

} // namespace tilescope::engine
