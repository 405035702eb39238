#include "core/model/generation.h"
#include "core/predict/experiment.h"
#include "core/predict/generation.h"

#include <algorithm>

namespace tilescope::predict {

namespace {

class GenerationMemory final : public ExperimentMemory {
public:
    GenerationMemory(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : spec_(spec), ops_(ops), model_(spec, CountedGenerationOps(spec, device, ops))
    {
        const std::int64_t prompts = spec.batch * spec.context;
        if (!device.isCuda)
            hold((prompts + spec.batch) * bytesOf(Type::Int64), "tokens on the host");
        for (const char* what : {"tokens", "targets"})
            hold(prompts * bytesOf(Type::Int64), what);
        hold(spec.newTokens * spec.batch * bytesOf(Type::Int64), "new tokens");
        if (spec.check && !device.isCuda)
            hold(spec.newTokens * spec.batch * spec.vocab *
                     bytesOf(spec.precision == Precision::Bf16 ? Type::BFloat16 : Type::Float32),
                 "logits on the host");
        if (spec.sampling != Sampling::Seeded)
            return;
        if (!device.isCuda)
            hold(spec.batch * bytesOf(Type::Float32), "random numbers on the host");
        hold(spec.batch * bytesOf(Type::Float32), "random numbers");
    }

    bool has(Phase phase) const override
    {
        return phase != Phase::Step && hasPhase(Workload::Lm, spec_.mode, phase);
    }
    void setToken(std::int64_t token) override { token_ = token; }
    void dropGradients() override {}

    void run(Phase phase) override
    {
        if (phase == Phase::Sample)
            return sample();
        const bool isPrefill = phase == Phase::Prefill;
        const std::int64_t tokens = isPrefill ? spec_.context : 1;
        model_.ops().setPositions(isPrefill ? 0 : spec_.context + token_ - 1, tokens);
        logits_ = model_.forward({.count = spec_.batch * tokens, .type = Type::Int64});
    }

    void finish() override { logits_ = {}; }

private:
    void hold(std::int64_t bytes, const char* what)
    {
        held_.push_back(ops_.memory().make(bytes, MemoryCategory::Inputs, what));
    }

    void sample()
    {
        ops_.moves(logits_.bytes());
        if (spec_.sampling != Sampling::Seeded)
            return;
        Tensor probabilities;
        {
            const Tensor wide = ops_.to(logits_, Type::Float32, "logits, widened");
            probabilities = ops_.make(wide.count, Type::Float32, "probabilities");
        }
        const Tensor cumulative = ops_.make(probabilities.count, Type::Float32, "cumulative probabilities");
        ops_.moves(4 * probabilities.bytes());
        ops_.temporary(spec_.batch * bytesOf(Type::Int64), "tokens");
    }

    const ExperimentSpec spec_;
    Ops& ops_;
    GenerationModel model_;
    std::vector<Storage> held_;
    Tensor logits_;
    std::int64_t token_ = 0;
};

} // namespace

std::unique_ptr<ExperimentMemory> makeGenerationMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                       Ops& ops)
{
    return std::make_unique<GenerationMemory>(spec, device, ops);
}

std::vector<std::int64_t> replayedTokens(const ExperimentSpec& spec)
{
    constexpr std::int64_t kMost = 64; // the memory of a token grows with its position
    std::vector<std::int64_t> tokens;
    const std::int64_t stride = std::max<std::int64_t>(1, (spec.newTokens + kMost - 1) / kMost);
    for (std::int64_t token = 0; token < spec.newTokens; token += stride)
        tokens.push_back(token);
    if (tokens.back() != spec.newTokens - 1)
        tokens.push_back(spec.newTokens - 1);
    return tokens;
}

} // namespace tilescope::predict
