#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/engine/common/inspection.h"
#include "core/engine/common/set_up.h"
#include "core/engine/lm/adamw.h"
#include "core/engine/lm/compiled_model.h"
#include "core/engine/lm/compiled_passes.h"
#include "core/engine/lm/eager_gradients.h"
#include "core/engine/lm/lm.h"
#include "core/engine/lm/token_batch.h"
#include "core/model/phases.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tilescope::engine {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

constexpr const char* kRange = "inductor";
/// The key of a fact: why the package was not compared with the eager model.
constexpr const char* kNotCompared = "result.inductor_not_compared";

/// Cosines and sines for q (multiplied by the scale of the scores) and for k: (2, context, headDim / 2, 2).
Tensor rotationTable(const ExperimentSpec& spec, at::TensorOptions options)
{
    const Making making(MemoryCategory::Inputs, "rotation");
    const std::int64_t headDim = spec.dModel / spec.heads;
    const Rotation rotation = makeRotation(1, 1, spec.context, headDim, spec.ropeTheta,
                                           1 / std::sqrt(static_cast<double>(headDim)), options);
    return at::view_as_real(rotation.forward.narrow(0, 0, 2))
        .reshape({2, spec.context, headDim / 2, 2})
        .clone();
}

/// The language model compiled by TorchInductor (compile: inductor). Uses the eager model's weights, tokens
/// and optimizer.
class InductorLmExperiment final : public Experiment {
public:
    InductorLmExperiment(const ExperimentSpec& spec, const Device& device)
        : spec_(spec), device_(device), model_(spec, eagerOps(spec, device)), batch_(spec, device.torch()),
          rotation_(rotationTable(spec, at::device(device.torch()).dtype(at::kFloat))),
          compiled_(compiledModel(spec, device)), passes_(compiled_, device, spec.mode != Mode::Forward)
    {
        {
            const Making making(MemoryCategory::Inputs, "gradient of the loss");
            gradient_ = at::ones({}, at::device(device.torch()).dtype(at::kFloat));
        }
        check();
        if (spec.mode != Mode::Train)
            return;
        std::vector<NamedTensor> weights;
        for (std::size_t i = 0; i < model_.parameters().size(); ++i)
            weights.push_back({model_.parameterNames()[i], model_.parameters()[i]});
        optimizer_.emplace(weights, device.torch(), spec.precision == Precision::Fp16);
        gradient_ = optimizer_->lossGradient();
    }

    void dropGradients() override
    {
        for (const Tensor& parameter : model_.parameters())
            parameter.mutable_grad().reset();
    }
    void refreshInputs() override { batch_.refresh(); }

    void run(Phase phase) override
    {
        const at::NoGradGuard noGrad;
        if (phase == Phase::Optimizer)
            return optimizer_->step();
        const trace::ScopedRange range(kRange);
        if (phase == Phase::Forward) {
            saved_ = passes_.forward(inputsOf(batch_));
            output_ = saved_.front();
        } else if (phase == Phase::Backward) {
            const Tensors gradients = passes_.backward(inputsOf(batch_), std::move(saved_), gradient_);
            for (std::size_t i = 0; i < gradients.size(); ++i)
                model_.parameters()[i].mutable_grad() = gradients[i];
        }
    }

    void finish() override
    {
        output_.reset();
        saved_.clear();
    }

    // The loss is part of forward.
    bool has(Phase phase) const override
    {
        return phase != Phase::Loss && hasPhase(Workload::Lm, spec_.mode, phase);
    }
    std::optional<std::int64_t> parameters() const override { return model_.ops().weightElements(); }
    bool computesLoss() const override { return true; }
    std::optional<double> loss() const override
    {
        if (!output_.defined() || spec_.mode == Mode::Forward)
            return {};
        return output_.item<double>();
    }
    std::vector<EnvironmentEntry> facts() const override
    {
        std::vector<EnvironmentEntry> facts = batch_.facts();
        facts.insert(facts.end(), facts_.begin(), facts_.end());
        return facts;
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
            visit(MemoryCategory::Parameters, model_.parameterNames()[i], model_.parameters()[i]);
            visit(MemoryCategory::Gradients, model_.parameterNames()[i], model_.parameters()[i].grad());
        }
        model_.ops().visitHeld(visit);
        visit(MemoryCategory::Inputs, "rotation of the compiled model", rotation_);
        batch_.visitHeld(visit);
        if (optimizer_)
            optimizer_->visitHeld(visit);
        visit(MemoryCategory::Inputs, "gradient of the loss", gradient_);
    }

    Tensor graphRoot() const override { return {}; } // there is no autograd graph
    // The modules of these tensors are unknown, because the compiler merges ops of several modules.
    void visitSaved(const SavedVisitor& visit) const override
    {
        for (std::size_t i = 1; i < saved_.size(); ++i)
            visit(c10::str("/", kRange), kRange, saved_[i]);
    }

private:
    Tensors inputsOf(const TokenBatch& batch) const
    {
        Tensors inputs;
        for (const Tensor& parameter : model_.parameters())
            inputs.push_back(parameter.detach());
        inputs.insert(inputs.end(), {batch.tokens(), batch.targets(), rotation_});
        return inputs;
    }

    /// Compares the package with the eager model, unless an earlier run has done so.
    void check()
    {
        facts_ = compiled_.notes();
        const auto isError = [](const EnvironmentEntry& note) { return note.key == kOutputError; };
        if (std::ranges::any_of(facts_, isError))
            return;
        try {
            const std::vector<EnvironmentEntry> found = compare();
            facts_.insert(facts_.end(), found.begin(), found.end());
            compiled_.store(facts_);
        } catch (const c10::OutOfMemoryError&) {
            facts_.push_back({kNotCompared, "the eager model does not fit in memory"});
        }
        device_.clean();
    }

    /// \return  the errors, relative to the eager model
    std::vector<EnvironmentEntry> compare()
    {
        const at::NoGradGuard noGrad;
        TokenBatch batch(spec_, device_.torch());
        batch.refresh();
        const bool hasBackward = spec_.mode != Mode::Forward;
        Tensors saved = passes_.forward(inputsOf(batch));
        const Tensor output = saved.front();
        const Tensor gradient = at::full_like(gradient_, lossScale());
        Tensors gradients;
        if (hasBackward)
            gradients = passes_.backward(inputsOf(batch), std::move(saved), gradient);
        const EagerGradients eager = eagerGradients(spec_, device_, model_, batch, gradient);
        const double outputError = relativeDifference(output, eager.output);
        // A sum of logits of both signs may be close to 0, so its relative error is unbounded.
        if (!hasBackward || spec_.loss == LossKind::CrossEntropy)
            requireRounding(outputError, "output");
        std::vector<EnvironmentEntry> found{{kOutputError, threeDigits(outputError)}};
        if (!hasBackward)
            return found;
        double largest = 0;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const double error = relativeDifference(gradients[i], eager.gradients.at(i));
            requireRounding(error, "gradient of " + model_.parameterNames()[i]);
            largest = std::max(largest, error);
        }
        found.push_back({kGradientError, threeDigits(largest)});
        return found;
    }

    /// The scale of the loss: without it, gradients of a mean over all tokens are too small for fp16.
    double lossScale() const
    {
        constexpr double kScale = 1024;
        return spec_.precision == Precision::Fp16 && spec_.loss == LossKind::CrossEntropy ? kScale : 1;
    }

    /// \throws Error  the error is larger than rounding explains: the package computes a different model
    void requireRounding(double error, const std::string& what) const
    {
        const double bound = roundingBound(spec_);
        if (error <= bound)
            return;
        compiled_.remove();
        throw Error{.what = c10::str("the compiled model is not the same model: its ", what, " differs by ",
                                     threeDigits(error), " (relative), more than the ", threeDigits(bound),
                                     " of rounding"),
                    .where = "compile: inductor",
                    .remedy = "write compile: none, and report this",
                    .kind = ErrorKind::Failure};
    }

    ExperimentSpec spec_;
    const Device& device_;
    LanguageModel model_;
    TokenBatch batch_;
    Tensor rotation_;
    CompiledModel compiled_;
    CompiledPasses passes_;
    std::optional<AdamW> optimizer_;
    std::vector<EnvironmentEntry> facts_;
    Tensor gradient_; // initial gradient of backward
    Tensor output_;   // the loss, or the logits in mode forward
    Tensors saved_;   // output_ and the tensors for backward
};

} // namespace

std::unique_ptr<Experiment> makeInductorLmExperiment(const ExperimentSpec& spec, const Device& device)
{
    return std::make_unique<InductorLmExperiment>(spec, device);
}

} // namespace tilescope::engine
