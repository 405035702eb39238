#pragma once

#include "core/model/phases.h"
#include "core/predict/experiment.h"
#include "core/predict/parallel_memory.h"

#include <vector>

namespace tilescope::predict {

/// What the ways to compute a step of the language model have in common: the tensors held between steps, and the
/// calls to the ranks around the phases.
class LmMemory : public ExperimentMemory {
public:
    bool has(Phase phase) const override
    {
        return phase != Phase::Step && hasPhase(Workload::Lm, spec_.mode, phase);
    }

    void run(Phase phase) override
    {
        runPhase(*this, phase,
                 {&LmMemory::forward, &LmMemory::computeLoss, &LmMemory::backward, &LmMemory::optimize});
    }

protected:
    LmMemory(const ExperimentSpec& spec, Ops& ops) : spec_(spec), ops_(ops) {}

    /// Null without ranks.
    virtual ParallelMemory* ranks() = 0;
    virtual void forward() = 0;
    virtual void computeLoss() = 0;
    virtual void backward() = 0;
    virtual void optimize() = 0;

    bool makesGradients() const { return spec_.mode != Mode::Forward || spec_.grad; }

    /// Runs the model, with the calls to the ranks around it.
    template <class Run> void inForward(const Run& run)
    {
        if (ranks())
            ranks()->beginForward(makesGradients());
        run();
        if (ranks())
            ranks()->endForward();
    }

    template <class Run> void inBackward(const Run& run)
    {
        if (ranks())
            ranks()->beginBackward();
        run();
        if (ranks())
            ranks()->finishBackward();
    }

    void hold(MemoryCategory category, std::int64_t bytes, const char* what)
    {
        held_.push_back(ops_.memory().make(bytes, category, what));
    }

    void holdTokens(const TargetDevice& device)
    {
        const std::int64_t tokens = spec_.batch * spec_.context;
        // Drawn on the host, so it counts as host memory as well.
        if (!device.isCuda)
            hold(MemoryCategory::Inputs, (tokens + spec_.batch) * bytesOf(Type::Int64), "tokens on the host");
        for (const char* what : {"tokens", "targets"})
            hold(MemoryCategory::Inputs, tokens * bytesOf(Type::Int64), what);
    }

    /// Two moments per tensor, one step count for all, and the state of the loss scaling.
    /// \param updated  bytes of the tensors
    void holdOptimizer(const std::vector<std::int64_t>& updated)
    {
        for (const std::int64_t bytes : updated)
            for (const char* what : {"first moment", "second moment"})
                hold(MemoryCategory::Optimizer, bytes, what);
        for (const char* what : {"step count", "loss scale", "growth tracker", "found inf"})
            hold(MemoryCategory::Optimizer, bytesOf(Type::Float32), what);
    }

    const ExperimentSpec& spec() const { return spec_; }
    Ops& ops() { return ops_; }
    const std::vector<Storage>& held() const { return held_; }

private:
    const ExperimentSpec spec_;
    Ops& ops_;
    std::vector<Storage> held_;
};

} // namespace tilescope::predict
