#include "core/base/error.h"
#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/set_up.h"
#include "core/engine/lm/adamw.h"
#include "core/engine/lm/lm.h"
#include "core/engine/lm/token_batch.h"
#include "core/engine/parallel/parallelism.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/phases.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

class LmExperiment final : public Experiment {
public:
    LmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
        : spec_(spec), device_(device.torch().type()), autocast_(autocastDtype(spec.precision)),
          ranks_(ranks), grid_(gridOf(spec)), parallelism_(ranks ? makeParallelism(spec, *ranks) : nullptr),
          model_(spec, eagerOps(spec, device, parallelism_.get())), weights_(weightsToUpdate()),
          batch_(spec, device.torch(), ranks ? grid_.dataOf(ranks->rank()) : 0, grid_.data)
    {
        {
            const Making making(MemoryCategory::Inputs, "gradient of the loss");
            gradient_ = at::ones({}, at::device(device.torch()).dtype(at::kFloat));
        }
        if (spec.mode != Mode::Train)
            return;
        optimizer_.emplace(weights_, device.torch(), spec.precision == Precision::Fp16);
        gradient_ = optimizer_->lossGradient();
        if (parallelism_)
            optimizer_->onOverflow([this](const Tensor& found) { parallelism_->agreeOnOverflow(found); });
    }

    void prepare() override
    {
        Experiment::prepare();
        if (ranks_)
            ranks_->startTogether();
    }

    void dropGradients() override
    {
        if (parallelism_)
            return parallelism_->dropGradients();
        for (const NamedTensor& weight : weights_)
            weight.tensor.mutable_grad().reset();
    }

    void refreshInputs() override { batch_.refresh(); }

    void run(Phase phase) override
    {
        runPhase(*this, phase,
                 {&LmExperiment::forward, &LmExperiment::computeLoss, &LmExperiment::backward,
                  &LmExperiment::optimize});
    }

    void finish() override
    {
        logits_.reset();
        loss_.reset();
    }

    bool has(Phase phase) const override { return hasPhase(Workload::Lm, spec_.mode, phase); }
    std::vector<EnvironmentEntry> facts() const override { return batch_.facts(); }

    std::optional<std::int64_t> parameters() const override { return model_.ops().weightElements(); }

    void visitHeld(const HoldVisitor& visit) const override
    {
        if (parallelism_) {
            parallelism_->visitHeld(visit);
        } else {
            for (const auto& [name, tensor] : weights_) {
                visit(MemoryCategory::Parameters, name, tensor);
                visit(MemoryCategory::Gradients, name, tensor.grad());
            }
        }
        model_.ops().visitHeld(visit);
        batch_.visitHeld(visit);
        if (optimizer_)
            optimizer_->visitHeld(visit);
        visit(MemoryCategory::Inputs, "gradient of the loss", gradient_);
    }

    Tensor graphRoot() const override { return loss_.defined() ? loss_ : logits_; }

    bool computesLoss() const override { return true; }
    std::optional<double> loss() const override
    {
        if (!loss_.defined())
            return {};
        return loss_.item<double>();
    }

private:
    /// The weights that the optimizer of this process updates.
    std::vector<NamedTensor> weightsToUpdate()
    {
        if (parallelism_)
            return parallelism_->updated();
        std::vector<NamedTensor> weights;
        for (std::size_t i = 0; i < model_.parameters().size(); ++i)
            weights.push_back({model_.parameterNames()[i], model_.parameters()[i]});
        return weights;
    }

    void forward()
    {
        const at::AutoGradMode grad(spec_.mode != Mode::Forward || spec_.grad);
        const AutocastScope autocast(device_, autocast_);
        if (parallelism_)
            parallelism_->beginForward();
        logits_ = model_.forward(batch_.tokens());
        if (parallelism_)
            parallelism_->endForward();
    }

    void computeLoss()
    {
        const AutocastScope autocast(device_, autocast_);
        loss_ = spec_.loss == LossKind::CrossEntropy ? at::cross_entropy_loss(logits_, batch_.targets())
                                                     : at::sum(logits_);
    }

    void backward()
    {
        if (parallelism_)
            parallelism_->beginBackward();
        torch::autograd::backward({loss_}, {gradientOfLoss()});
        if (parallelism_)
            parallelism_->finishBackward();
    }

    // The gradients of the ranks are summed, but cross entropy is a mean over the tokens of a batch. So each
    // rank scales its gradient by its share of the tokens.
    Tensor gradientOfLoss() const
    {
        const Tensor gradient = gradient_.to(loss_.scalar_type());
        return spec_.loss == LossKind::CrossEntropy && grid_.data > 1 ? gradient.div(grid_.data) : gradient;
    }

    void optimize()
    {
        optimizer_->step();
        if (parallelism_)
            parallelism_->finishUpdate();
    }

    ExperimentSpec spec_;
    at::DeviceType device_;
    std::optional<at::ScalarType> autocast_;
    Ranks* ranks_;
    RankGrid grid_;
    std::unique_ptr<Parallelism> parallelism_; // null without ranks; the model uses it
    LanguageModel model_;
    std::vector<NamedTensor> weights_; // the weights that the optimizer updates
    std::optional<AdamW> optimizer_;
    TokenBatch batch_;
    Tensor gradient_; // initial gradient of backward
    Tensor logits_;
    Tensor loss_;
};

} // namespace

std::unique_ptr<Experiment> makeLmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
{
    return std::make_unique<LmExperiment>(spec, device, ranks);
}

} // namespace tilescope::engine
