#include "core/model/phases.h"
#include "core/predict/experiment.h"
#include "core/predict/fused_kernels.h"
#include "core/predict/fused_ops.h"

namespace tilescope::predict {

namespace {

/// The counterpart of core/engine's FusedLmExperiment.
class FusedLmExperiment final : public ExperimentMemory {
public:
    FusedLmExperiment(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : spec_(spec), ops_(ops), model_(spec, CountedFusedOps(spec, device, ops)), parts_(partsToUpdate()),
          tokens_(std::make_shared<FusedValue>())
    {
        const std::int64_t tokens = spec.batch * spec.context;
        // Drawn on the host, so it counts as host memory as well.
        if (!device.isCuda)
            hold(MemoryCategory::Inputs, (tokens + spec.batch) * bytesOf(Type::Int64), "tokens on the host");
        hold(MemoryCategory::Inputs, tokens * bytesOf(Type::Int64), "tokens");
        hold(MemoryCategory::Inputs, tokens * bytesOf(Type::Int64), "targets");
        tokens_->isHeld = true;
        if (spec.mode != Mode::Train)
            return;
        if (model_.ops().parallel() != nullptr) {
            addPartOptimizer();
            return;
        }
        for (const CountedFusedOps::Tensor& parameter : model_.parameters())
            for (const char* what : {"first moment", "second moment"})
                hold(MemoryCategory::Optimizer, parameter->data.count * kFloat, what);
        hold(MemoryCategory::Optimizer, kFloat, "step count");
        if (updatesInBackward())
            model_.ops().observeGradients(
                [this](const CountedFusedOps::Tensor& parameter) { model_.ops().update(parameter); });
    }

    bool has(Phase phase) const override
    {
        return phase != Phase::Step && hasPhase(Workload::Lm, spec_.mode, phase);
    }

    void dropGradients() override
    {
        if (ParallelMemory* ranks = model_.ops().parallel())
            ranks->dropGradients();
        for (const CountedFusedOps::Tensor& parameter : model_.parameters())
            parameter->grad = {};
    }

    void run(Phase phase) override
    {
        runPhase(*this, phase,
                 {&FusedLmExperiment::forward, &FusedLmExperiment::computeLoss, &FusedLmExperiment::backward,
                  &FusedLmExperiment::optimize});
    }

    void finish() override
    {
        model_.ops().forget();
        logits_ = {};
        loss_ = {};
    }

private:
    void hold(MemoryCategory category, std::int64_t bytes, const char* what)
    {
        held_.push_back(ops_.memory().make(bytes, category, what));
    }
    /// Elements of the tensors that the optimizer of a rank updates.
    std::vector<std::int64_t> partsToUpdate()
    {
        ParallelMemory* const ranks = model_.ops().parallel();
        return ranks ? ranks->updated() : std::vector<std::int64_t>();
    }

    void addPartOptimizer()
    {
        for (const std::int64_t count : parts_)
            for (const char* what : {"first moment", "second moment"})
                hold(MemoryCategory::Optimizer, count * kFloat, what);
        for (const char* what : {"step count", "loss scale", "growth tracker", "found inf"})
            hold(MemoryCategory::Optimizer, kFloat, what);
    }

    void forward()
    {
        const bool recording = spec_.mode != Mode::Forward || spec_.grad;
        ParallelMemory* const ranks = model_.ops().parallel();
        model_.ops().record(recording);
        if (ranks)
            ranks->beginForward(recording);
        logits_ = model_.forward(tokens_);
        if (ranks)
            ranks->endForward();
    }

    void backward()
    {
        ParallelMemory* const ranks = model_.ops().parallel();
        if (ranks)
            ranks->beginBackward();
        model_.ops().backward();
        if (ranks)
            ranks->finishBackward();
    }

    void computeLoss()
    {
        loss_ = spec_.loss == LossKind::CrossEntropy ? model_.ops().crossEntropy(logits_)
                                                     : model_.ops().sum(logits_);
    }

    void optimize()
    {
        if (model_.ops().parallel() != nullptr)
            updateParts();
        else if (!updatesInBackward())
            for (const CountedFusedOps::Tensor& parameter : model_.parameters())
                model_.ops().update(parameter);
    }

    // Reads four values per parameter and writes three.
    void updateParts()
    {
        constexpr std::int64_t kStreams = 7;
        for (const std::int64_t count : parts_)
            ops_.moves(kStreams * count * kFloat);
        model_.ops().parallel()->finishUpdate();
    }

    bool updatesInBackward() const { return spec_.mode == Mode::Train && spec_.timing == StepTiming::Step; }

    ExperimentSpec spec_;
    Ops& ops_;
    FusedLanguageModel model_;
    std::vector<std::int64_t> parts_; ///< of ranks
    std::vector<Storage> held_;
    CountedFusedOps::Tensor tokens_;
    CountedFusedOps::Tensor logits_;
    Tensor loss_;
};

} // namespace

std::unique_ptr<ExperimentMemory> makeFusedLmMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                    Ops& ops)
{
    return std::make_unique<FusedLmExperiment>(spec, device, ops);
}

} // namespace tilescope::predict
