#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/side_stream.h"
#include "core/engine/lm/adamw.h"
#include "core/engine/lm/fp8_accuracy.h"
#include "core/engine/lm/fused_adamw.h"
#include "core/engine/lm/fused_ops.h"
#include "core/engine/lm/token_batch.h"
#include "core/engine/parallel/parallelism.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/fused_loss.h"
#include "core/model/fused_update.h"
#include "core/model/parallelism.h"
#include "core/model/phases.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

FusedOptions optionsOf(const ExperimentSpec& spec, const Device& device)
{
    return {.device = device.torch(),
            .elements = isIn16Bits(spec.precision) ? at::kBFloat16 : at::kFloat,
            .tf32 = spec.precision == Precision::Tf32,
            .splitsProducts = spec.precision == Precision::Fp32x6,
            .quantizesProducts = spec.precision == Precision::Fp8,
            .deterministic = spec.deterministic,
            .trains = spec.mode == Mode::Train,
            .chunkRows = fusedLossRows(spec)};
}

/// The language model computed by FusedOps (compile: fused).
class FusedLmExperiment final : public Experiment {
public:
    FusedLmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks)
        : spec_(spec), ranks_(ranks), parallelism_(ranks ? makeParallelism(spec, *ranks) : nullptr),
          model_(spec, FusedOps(spec, optionsOf(spec, device), parallelism_.get())),
          batch_(spec, device.torch(), ranks ? gridOf(spec).dataOf(ranks->rank()) : 0, gridOf(spec).data),
          tokens_(FusedOps::valueOf(batch_.tokens())),
          updates_(device.torch(), SideStream::Priority::Background)
    {
        if (spec.precision == Precision::Fp8 && spec.mode != Mode::Forward && !ranks)
            facts_ = accuracy(device);
        if (parallelism_) {
            const std::vector<NamedTensor> parts = parallelism_->updated();
            if (spec.mode == Mode::Train)
                partOptimizer_.emplace(parts, device.torch(), false);
            return;
        }
        if (spec.mode != Mode::Train)
            return;
        optimizer_.emplace(model_.parameters(), model_.parameterNames());
        if (spec.timing == StepTiming::Step)
            model_.ops().observeGradients([this](const FusedOps::Tensor& parameter) {
                updates_.run({}, [&] { optimizer_->update(parameter); });
            });
        const int computeMajor =
            device.isCuda() ? at::cuda::getDeviceProperties(device.torch().index())->major : 0;
        if (updatesWithGradients(spec, computeMajor))
            model_.ops().updateWithGradients(
                [this](const FusedOps::Tensor& weight, const Tensor& gradient, const Tensor& x) {
                    optimizer_->updateWithGradient(weight, gradient, x);
                });
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
            parallelism_->dropGradients();
        for (const FusedOps::Tensor& parameter : model_.parameters())
            parameter->grad.reset();
    }
    void refreshInputs() override { batch_.refresh(); }

    void run(Phase phase) override
    {
        const at::NoGradGuard noGrad;
        runPhase(*this, phase,
                 {&FusedLmExperiment::forward, &FusedLmExperiment::computeLoss, &FusedLmExperiment::backward,
                  &FusedLmExperiment::optimize});
    }

    void finish() override
    {
        model_.ops().forget();
        updates_.join();
        logits_.reset();
        loss_.reset();
    }

    bool has(Phase phase) const override { return hasPhase(Workload::Lm, spec_.mode, phase); }
    std::vector<EnvironmentEntry> facts() const override
    {
        std::vector<EnvironmentEntry> facts = batch_.facts();
        facts.insert(facts.end(), facts_.begin(), facts_.end());
        return facts;
    }

    std::optional<std::int64_t> parameters() const override
    {
        std::int64_t count = 0;
        for (const FusedOps::Tensor& parameter : model_.parameters())
            count += parameter->data.numel();
        return count;
    }

    bool computesLoss() const override { return true; }
    std::optional<double> loss() const override
    {
        if (!loss_.defined())
            return {};
        return loss_.item<double>();
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
            const FusedValue& parameter = *model_.parameters()[i];
            const std::string& name = model_.parameterNames()[i];
            visit(MemoryCategory::Gradients, name, parameter.grad);
            if (parallelism_)
                continue;
            visit(MemoryCategory::Parameters, name, parameter.data);
            visit(MemoryCategory::Parameters, name + " remainder", parameter.remainder);
            if (parameter.quantized) {
                visit(MemoryCategory::Parameters, name + " in fp8", parameter.quantized->values);
                visit(MemoryCategory::Parameters, name + " in fp8, transposed",
                      parameter.quantized->transposed);
                visit(MemoryCategory::Parameters, name + " scales", parameter.quantized->scales);
            }
            if (parameter.parts)
                visit(MemoryCategory::Parameters, name + " in bf16 parts", parameter.parts->parts);
        }
        if (parallelism_)
            parallelism_->visitHeld(visit);
        model_.ops().visitHeld(visit);
        batch_.visitHeld(visit);
        if (optimizer_)
            optimizer_->visitHeld(model_.parameterNames(), visit);
        if (partOptimizer_)
            partOptimizer_->visitHeld(visit);
    }

    Tensor graphRoot() const override { return {}; } // there is no autograd graph
    void visitSaved(const SavedVisitor& visit) const override { model_.ops().visitSaved(visit); }

private:
    // Phases that are timed separately must not overlap. Otherwise, AdamW updates each parameter during
    // backward as soon as its gradient is complete: the update is memory-bound, and products are not.
    bool updatesInBackward() const { return optimizer_ && spec_.timing == StepTiming::Step; }

    void forward()
    {
        const bool recording = spec_.mode != Mode::Forward || spec_.grad;
        model_.ops().record(recording);
        if (parallelism_) {
            const at::AutoGradMode grad(recording); // tells the ops whether a backward follows
            parallelism_->beginForward();
        }
        logits_ = model_.forward(tokens_);
        if (parallelism_)
            parallelism_->endForward();
    }

    void backward()
    {
        if (updatesInBackward())
            optimizer_->begin();
        if (parallelism_)
            parallelism_->beginBackward();
        model_.ops().backward();
        if (parallelism_)
            parallelism_->finishBackward();
    }

    void optimize()
    {
        if (partOptimizer_) {
            partOptimizer_->step();
            return parallelism_->finishUpdate();
        }
        if (updatesInBackward()) {
            updates_.join();
            return;
        }
        optimizer_->begin();
        optimizer_->updateAll();
    }

    /// Compares an fp8 step with a bf16 step on the tokens of the first step.
    std::vector<EnvironmentEntry> accuracy(const Device& device)
    {
        std::vector<EnvironmentEntry> facts;
        try {
            TokenBatch first(spec_, device.torch());
            first.refresh();
            batch_.tokens().copy_(first.tokens());
            batch_.targets().copy_(first.targets());
            facts = fp8Accuracy(model_, [this] {
                for (const Phase phase : {Phase::Forward, Phase::Loss, Phase::Backward})
                    run(phase);
            });
        } catch (const c10::OutOfMemoryError&) {
            facts = {{"result.fp8.not_compared", "the gradients in bf16 do not fit in memory beside"}};
        }
        dropGradients();
        finish();
        device.clean();
        return facts;
    }

    void computeLoss()
    {
        if (spec_.loss == LossKind::CrossEntropy) {
            loss_ = model_.ops().crossEntropy(logits_, batch_.targets());
            return;
        }
        loss_ = logits_->data.sum(at::kFloat);
        logits_->grad = std::exchange(logits_->data, {}).fill_(1);
    }

    ExperimentSpec spec_;
    Ranks* ranks_;
    std::unique_ptr<Parallelism> parallelism_; // null without ranks; the model uses it
    tilescope::LanguageModel<FusedOps> model_;
    std::optional<FusedAdamW> optimizer_;
    std::optional<AdamW> partOptimizer_; // with ranks: updates this rank's parts
    TokenBatch batch_;
    FusedOps::Tensor tokens_;
    FusedOps::Tensor logits_;
    Tensor loss_;
    std::vector<EnvironmentEntry> facts_;
    SideStream updates_;
};

} // namespace

std::unique_ptr<Experiment> makeFusedLmExperiment(const ExperimentSpec& spec, const Device& device,
                                                  Ranks* ranks)
{
    return std::make_unique<FusedLmExperiment>(spec, device, ranks);
}

} // namespace tilescope::engine
