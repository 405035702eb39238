#include "core/predict/fused_kernels.h"
#include "core/predict/fused_ops.h"
#include "core/predict/lm_memory.h"

namespace tilescope::predict {

namespace {

/// The counterpart of core/engine's FusedLmExperiment.
class FusedLmExperiment final : public LmMemory {
public:
    FusedLmExperiment(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : LmMemory(spec, ops), model_(spec, CountedFusedOps(spec, device, ops)), parts_(partsToUpdate()),
          tokens_(std::make_shared<FusedValue>())
    {
        holdTokens(device);
        tokens_->isHeld = true;
        if (spec.mode != Mode::Train)
            return;
        if (ranks()) {
            holdOptimizer(parts_);
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

    void dropGradients() override
    {
        if (ranks())
            ranks()->dropGradients();
        for (const CountedFusedOps::Tensor& parameter : model_.parameters())
            parameter->grad = {};
    }

    void finish() override
    {
        model_.ops().forget();
        logits_ = {};
        loss_ = {};
    }

private:
    ParallelMemory* ranks() override { return model_.ops().parallel(); }

    /// Bytes of the tensors that the optimizer of a rank updates.
    std::vector<std::int64_t> partsToUpdate()
    {
        std::vector<std::int64_t> parts = ranks() ? ranks()->updated() : std::vector<std::int64_t>();
        for (std::int64_t& part : parts)
            part *= kFloat;
        return parts;
    }

    void forward() override
    {
        model_.ops().record(makesGradients());
        inForward([this] { logits_ = model_.forward(tokens_); });
    }

    void backward() override
    {
        inBackward([this] { model_.ops().backward(); });
    }

    void computeLoss() override
    {
        loss_ = spec().loss == LossKind::CrossEntropy ? model_.ops().crossEntropy(logits_)
                                                      : model_.ops().sum(logits_);
    }

    void optimize() override
    {
        if (ranks())
            updateParts();
        else if (!updatesInBackward())
            for (const CountedFusedOps::Tensor& parameter : model_.parameters())
                model_.ops().update(parameter);
    }

    // Reads four values per parameter and writes three.
    void updateParts()
    {
        constexpr std::int64_t kStreams = 7;
        for (const std::int64_t bytes : parts_)
            ops().moves(kStreams * bytes);
        ranks()->finishUpdate();
    }

    bool updatesInBackward() const { return spec().mode == Mode::Train && spec().timing == StepTiming::Step; }

    FusedLanguageModel model_;
    std::vector<std::int64_t> parts_; ///< of ranks, in bytes
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
