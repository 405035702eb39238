#include "core/model/phases.h"
#include "core/predict/experiment.h"
#include "core/predict/lm.h"

namespace tilescope::predict {

namespace {

class LmExperiment final : public ExperimentMemory {
public:
    LmExperiment(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : spec_(spec), ops_(ops), autocast_(autocastType(spec.precision)),
          model_(spec, CountedOps(spec, device, ops)), updated_(bytesToUpdate()), graph_(ops.memory())
    {
        const std::int64_t tokens = spec.batch * spec.context;
        // Drawn on the host, so it counts as host memory as well.
        if (!device.isCuda)
            hold(MemoryCategory::Inputs, (tokens + spec.batch) * bytesOf(Type::Int64), "tokens on the host");
        hold(MemoryCategory::Inputs, tokens * bytesOf(Type::Int64), "tokens");
        hold(MemoryCategory::Inputs, tokens * bytesOf(Type::Int64), "targets");
        gradient_.count = 1;
        gradient_.storage =
            ops.memory().make(gradient_.bytes(), MemoryCategory::Inputs, "gradient of the loss");
        if (spec.mode == Mode::Train)
            addOptimizer();
    }

    bool has(Phase phase) const override
    {
        return phase != Phase::Step && hasPhase(Workload::Lm, spec_.mode, phase);
    }

    void dropGradients() override
    {
        if (ParallelMemory* ranks = model_.ops().parallel())
            return ranks->dropGradients();
        for (Tensor& gradient : model_.ops().leaves().gradients)
            gradient = {};
    }

    void run(Phase phase) override
    {
        runPhase(*this, phase,
                 {&LmExperiment::forward, &LmExperiment::computeLoss, &LmExperiment::backward,
                  &LmExperiment::optimize});
    }

    void finish() override
    {
        logits_ = {};
        loss_ = {};
        graph_.clear();
    }

private:
    void hold(MemoryCategory category, std::int64_t bytes, const char* what)
    {
        held_.push_back(ops_.memory().make(bytes, category, what));
    }

    // Two moments per parameter, one step count for all, and the state of the loss scaling. Backward starts
    // with the loss scale.
    void addOptimizer()
    {
        for (const std::int64_t bytes : updated_)
            for (const char* what : {"first moment", "second moment"})
                hold(MemoryCategory::Optimizer, bytes, what);
        for (const char* what : {"step count", "loss scale", "growth tracker", "found inf"})
            hold(MemoryCategory::Optimizer, bytesOf(Type::Float32), what);
        gradient_.storage = held_[held_.size() - 3];
    }

    // Fused in-place kernels: read four values per parameter and write three. With a scaled loss, the scale
    // is inverted and the gradients are first read and written.
    void optimize()
    {
        std::int64_t bytes = 0;
        for (const std::int64_t each : updated_)
            bytes += each;
        if (spec_.precision == Precision::Fp16) {
            ops_.temporary(bytesOf(Type::Float32), "one over the scale");
            ops_.moves(2 * bytes);
        }
        constexpr std::int64_t kStreams = 7;
        ops_.moves(kStreams * bytes);
        if (ParallelMemory* ranks = model_.ops().parallel())
            ranks->finishUpdate();
    }

    /// Bytes of the tensors that the optimizer of this process updates.
    std::vector<std::int64_t> bytesToUpdate()
    {
        std::vector<std::int64_t> bytes;
        if (ParallelMemory* ranks = model_.ops().parallel()) {
            for (const std::int64_t count : ranks->updated())
                bytes.push_back(count * bytesOf(Type::Float32));
            return bytes;
        }
        for (const Tensor& parameter : model_.parameters())
            bytes.push_back(parameter.bytes());
        return bytes;
    }

    void forward()
    {
        const bool makesGradients = spec_.mode != Mode::Forward || spec_.grad;
        const Ops::Recording recording(ops_, makesGradients ? &graph_ : nullptr);
        const Ops::Autocast cast(ops_, autocast_);
        ParallelMemory* const ranks = model_.ops().parallel();
        if (ranks)
            ranks->beginForward(makesGradients);
        logits_ = model_.forward({.count = spec_.batch * spec_.context, .type = Type::Int64});
        if (ranks)
            ranks->endForward();
    }

    void computeLoss()
    {
        const Ops::Recording recording(ops_, &graph_);
        const Ops::Autocast cast(ops_, autocast_);
        loss_ = spec_.loss == LossKind::CrossEntropy ? ops_.negativeLogLikelihood(ops_.logSoftmax(logits_))
                                                     : ops_.sum(logits_);
    }

    void backward()
    {
        ParallelMemory* const ranks = model_.ops().parallel();
        if (ranks)
            ranks->beginBackward();
        {
            const Ops::BackwardThread thread(ops_);
            graph_.run(loss_, gradient_, model_.ops().leaves());
        }
        if (ranks)
            ranks->finishBackward();
    }

    ExperimentSpec spec_;
    Ops& ops_;
    std::optional<Type> autocast_;
    LanguageModel model_;
    std::vector<std::int64_t> updated_; // bytes
    std::vector<Storage> held_;
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
