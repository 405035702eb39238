#include "core/model/phases.h"
#include "core/predict/attention.h"
#include "core/predict/experiment.h"

namespace tilescope::predict {

namespace {

class AttentionExperiment final : public ExperimentMemory {
public:
    AttentionExperiment(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops)
        : ops_(ops), mode_(spec.mode), shape_(attentionCall(spec)),
          backend_(makeAttention(spec.backend, shape_, device, ops)), graph_(ops.memory())
    {
        q_ = input(0, shape_.queryCount(), "q");
        k_ = input(1, shape_.keyCount(), "k");
        v_ = input(2, shape_.keyCount(), "v");
        if (mode_ != Mode::Forward)
            gradO_ = input(Origin::kNowhere, shape_.queryCount(), "gradient of o");
        leaves_.gradients.resize(3);
    }

    bool has(Phase phase) const override
    {
        return phase != Phase::Step && hasPhase(Workload::Attention, mode_, phase);
    }

    void dropGradients() override
    {
        for (Tensor& gradient : leaves_.gradients)
            gradient = {};
    }

    void run(Phase phase) override
    {
        if (phase == Phase::Backward) {
            const Ops::BackwardThread thread(ops_);
            graph_.run(o_, gradO_, leaves_);
            return;
        }
        const Ops::Recording recording(ops_, shape_.needsGrad ? &graph_ : nullptr);
        o_ = backend_->apply(q_, k_, v_);
    }

    void finish() override
    {
        o_ = {};
        graph_.clear();
    }

private:
    Tensor input(std::int32_t leaf, std::int64_t count, const char* what)
    {
        Tensor x{.count = count, .type = shape_.type};
        x.storage = ops_.memory().make(x.bytes(), MemoryCategory::Inputs, what);
        if (shape_.needsGrad)
            x.origin.leaf = leaf;
        return x;
    }

    Ops& ops_;
    Mode mode_;
    TypedAttention shape_;
    std::unique_ptr<AttentionMemory> backend_;
    Leaves leaves_;
    Graph graph_;
    Tensor q_;
    Tensor k_;
    Tensor v_;
    Tensor gradO_;
    Tensor o_;
};

} // namespace

std::unique_ptr<ExperimentMemory> makeAttentionMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                      Ops& ops)
{
    return std::make_unique<AttentionExperiment>(spec, device, ops);
}

} // namespace tilescope::predict
