#include "core/predict/lm.h"
#include "core/predict/lm_memory.h"

namespace tilescope::predict {

namespace {

class LmExperiment final : public LmMemory {
public:
    LmExperiment(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : LmMemory(spec, ops), autocast_(autocastType(spec.precision)),
          model_(spec, CountedOps(spec, device, ops)), updated_(bytesToUpdate()), graph_(ops.memory())
    {
        holdTokens(device);
        gradient_.count = 1;
        gradient_.storage =
            ops.memory().make(gradient_.bytes(), MemoryCategory::Inputs, "gradient of the loss");
        if (spec.mode != Mode::Train)
            return;
        holdOptimizer(updated_);
        gradient_.storage = held()[held().size() - 3]; // backward starts with the loss scale
    }

    void dropGradients() override
    {
        if (ranks())
            return ranks()->dropGradients();
        for (Tensor& gradient : model_.ops().leaves().gradients)
            gradient = {};
    }

    void finish() override
    {
        logits_ = {};
        loss_ = {};
        graph_.clear();
    }

private:
    ParallelMemory* ranks() override { return model_.ops().parallel(); }

    // Fused in-place kernels: read four values per parameter and write three. With a scaled loss, the scale
    // is inverted and the gradients are first read and written.
    void optimize() override
    {
        std::int64_t bytes = 0;
        for (const std::int64_t each : updated_)
            bytes += each;
        if (spec().precision == Precision::Fp16) {
            ops().temporary(bytesOf(Type::Float32), "one over the scale");
            ops().moves(2 * bytes);
        }
        constexpr std::int64_t kStreams = 7;
        ops().moves(kStreams * bytes);
        if (ranks())
            ranks()->finishUpdate();
    }

    /// Bytes of the tensors that the optimizer of this process updates.
    std::vector<std::int64_t> bytesToUpdate()
    {
        std::vector<std::int64_t> bytes;
        if (ranks()) {
            for (const std::int64_t count : ranks()->updated())
                bytes.push_back(count * bytesOf(Type::Float32));
            return bytes;
        }
        for (const Tensor& parameter : model_.parameters())
            bytes.push_back(parameter.bytes());
        return bytes;
    }

    void forward() override
    {
        const Ops::Recording recording(ops(), makesGradients() ? &graph_ : nullptr);
        const Ops::Autocast cast(ops(), autocast_);
        inForward([this] {
            logits_ = model_.forward({.count = spec().batch * spec().context, .type = Type::Int64});
        });
    }

    void computeLoss() override
    {
        const Ops::Recording recording(ops(), &graph_);
        const Ops::Autocast cast(ops(), autocast_);
        loss_ = spec().loss == LossKind::CrossEntropy ? ops().negativeLogLikelihood(ops().logSoftmax(logits_))
                                                      : ops().sum(logits_);
    }

    void backward() override
    {
        inBackward([this] {
            const Ops::BackwardThread thread(ops());
            graph_.run(loss_, gradient_, model_.ops().leaves());
        });
    }

    std::optional<Type> autocast_;
    LanguageModel model_;
    std::vector<std::int64_t> updated_; // bytes
    Tensor gradient_;
    Graph graph_;
    Tensor logits_;
    Tensor loss_;
};

} // namespace

std::unique_ptr<ExperimentMemory> makeLmMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                               Ops& ops)
{
    return std::make_unique<LmExperiment>(spec, device, ops);
}

} // namespace tilescope::predict
