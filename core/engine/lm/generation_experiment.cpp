#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/set_up.h"
#include "core/engine/lm/fused_generation_ops.h"
#include "core/engine/lm/generation_check.h"
#include "core/engine/lm/generation_ops.h"
#include "core/engine/lm/token_batch.h"
#include "core/engine/lm/token_sampler.h"
#include "core/model/generation.h"
#include "core/model/phases.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <string>
#include <vector>

namespace tilescope::engine {
namespace {

using at::Tensor;

const Tensor& tensorOf(const Tensor& value)
{
    return value;
}

const Tensor& tensorOf(const GenerationValue& value)
{
    return value.tensor();
}

// A round is one generation: the prompts, then one token after another. A step is one token of all sequences.
template <class Ops> class GenerationExperiment final : public Experiment {
public:
    GenerationExperiment(const ExperimentSpec& spec, const Device& device)
        : spec_(spec), model_(spec, Ops(spec, at::device(device.torch()).dtype(inputDtype(spec.precision)))),
          prompts_(spec, device.torch()), sampler_(spec, device.torch())
    {
        {
            const Making making(MemoryCategory::Inputs, kMade);
            made_ = at::zeros({spec.newTokens, spec.batch}, at::device(device.torch()).dtype(at::kLong));
        }
        const Making making(MemoryCategory::Inputs, kKept);
        if (spec.check && made_.is_cuda() && spec.compile.kind != CompileRequest::Kind::None)
            graphLogits_.resize(static_cast<std::size_t>(spec.newTokens));
        if (spec.check)
            keptLogits_ = at::empty({spec.newTokens, spec.batch, spec.vocab}, inputDtype(spec.precision));
    }

    int stepsOfRound() const override { return static_cast<int>(spec_.newTokens); }

    void prepare() override
    {
        if (isMade_)
            token_ = (token_ + 1) % spec_.newTokens;
        isMade_ = false;
        if (token_ == 0) {
            prompts_.refresh();
            sampler_.restart();
        }
        sampler_.draw();
    }
    void replayed(Phase phase) override { isMade_ = isMade_ || phase == Phase::Sample; }

    void refreshInputs() override {}
    void dropGradients() override {}

    bool has(Phase phase) const override { return hasPhase(Workload::Lm, spec_.mode, phase); }
    bool isInStep(Phase phase) const override
    {
        return phase == Phase::Prefill ? token_ == 0 : phase == Phase::Decode ? token_ > 0 : true;
    }

    void run(Phase phase) override
    {
        const at::NoGradGuard noGrad;
        if (phase == Phase::Sample)
            return sample();
        model_.ops().setPositions(token_ == 0 ? 0 : spec_.context + token_ - 1,
                                  token_ == 0 ? spec_.context : 1);
        logits_ = tensorOf(model_.forward(token_ == 0 ? prompts_.tokens() : made_.select(0, token_ - 1)));
        if (!graphLogits_.empty())
            graphLogits_[static_cast<std::size_t>(token_)] = logits_;
    }

    void finish() override
    {
        if (spec_.check && isMade_)
            keptLogits_.select(0, token_).copy_(
                logits_.defined() ? logits_ : graphLogits_[static_cast<std::size_t>(token_)]);
        logits_.reset();
    }

    std::vector<EnvironmentEntry> facts() const override
    {
        std::vector<EnvironmentEntry> facts = prompts_.facts();
        facts.push_back({"result.cache", std::to_string(cacheBytes(spec_).count), "B"});
        if (spec_.newTokens > 1)
            facts.push_back({"result.bytes_per_token",
                             std::to_string(static_cast<std::int64_t>(meanDecodedBytes(spec_))), "B"});
        return facts;
    }

    std::vector<EnvironmentEntry> factsAfterSteps() const override
    {
        if (!spec_.check || !isMade_ || token_ + 1 != spec_.newTokens)
            return {};
        const Tensor prompts = prompts_.tokens().view({spec_.batch, spec_.context});
        const LogitError error = logitError(spec_, keptLogits_.transpose(0, 1), prompts, made_.t());
        return {{"result.logits.error", c10::str(error.largest)},
                {"result.logits.relative_error", c10::str(error.relative)},
                {"result.logits.wrong_tokens", std::to_string(error.wrongTokens)}};
    }

    std::optional<std::int64_t> parameters() const override { return model_.ops().weightElements(); }
    std::optional<double> loss() const override { return {}; }
    Tensor graphRoot() const override { return logits_; }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < model_.parameters().size(); ++i)
            visit(MemoryCategory::Parameters, model_.parameterNames()[i], tensorOf(model_.parameters()[i]));
        model_.ops().visitHeld(visit);
        prompts_.visitHeld(visit);
        sampler_.visitHeld(visit);
        visit(MemoryCategory::Inputs, kMade, made_);
        if (!made_.is_cuda())
            visit(MemoryCategory::Inputs, kKept, keptLogits_);
    }

private:
    static constexpr const char* kMade = "new tokens";
    static constexpr const char* kKept = "logits on the host";

    void sample()
    {
        Tensor next = made_.select(0, token_);
        sampler_.choose(logits_, next);
        isMade_ = true;
    }

    ExperimentSpec spec_;
    tilescope::LanguageModel<Ops> model_;
    TokenBatch prompts_;
    TokenSampler sampler_;
    Tensor made_; // (new_tokens, batch)
    Tensor logits_;
    std::int64_t token_ = 0;          // of the current step
    bool isMade_ = false;             // the current step's token is chosen
    std::vector<Tensor> graphLogits_; // of each token, kept for `check` because a replay makes no tensors
    Tensor keptLogits_;               // (new_tokens, batch, vocab) on the host; undefined without `check`
};

} // namespace

std::unique_ptr<Experiment> makeGenerationExperiment(const ExperimentSpec& spec, const Device& device)
{
    if (spec.compile.kind == CompileRequest::Kind::Fused)
        return std::make_unique<GenerationExperiment<FusedGenerationOps>>(spec, device);
    return std::make_unique<GenerationExperiment<GenerationOps>>(spec, device);
}

} // namespace tilescope::engine
