#include "core/engine/run/graphed_experiment.h"

#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"
#include "core/model/text.h"
#include "core/trace/host/range.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <map>
#include <utility>

namespace tilescope::engine {
namespace {

class GraphedExperiment final : public Experiment {
public:
    GraphedExperiment(std::unique_ptr<Experiment> inner, const Device& device, StepTiming timing)
        : inner_(std::move(inner)), device_(device), timing_(timing)
    {
    }

    // Captured phases write results and gradients to the same addresses at each replay, so only the inputs
    // change.
    void prepare() override
    {
        if (captured_ && !hasRounds()) {
            inner_->refreshInputs();
            return;
        }
        inner_->prepare();
        step_ = nextStep_;
        nextStep_ = (step_ + 1) % stepsOfRound();
    }
    int stepsOfRound() const override { return inner_->stepsOfRound(); }
    bool isInStep(Phase phase) const override { return inner_->isInStep(phase); }
    std::vector<EnvironmentEntry> factsAfterSteps() const override { return inner_->factsAfterSteps(); }
    void refreshInputs() override { inner_->refreshInputs(); }
    void dropGradients() override { inner_->dropGradients(); }

    void settle(const CaptureCalls& calls) override
    {
        // Library handles and workspaces must exist before a capture, so at least one step must have run.
        nextStep_ = 0;
        for (int i = 0; i < stepsOfRound(); ++i)
            runEagerly();
        Timestamp began{};
        for (int i = 0; i < stepsOfRound(); ++i) {
            prepare();
            device_.synchronize();
            if (i == 0)
                began = TraceClock::now();
            timing_ == StepTiming::Step ? captureStep(calls) : capturePhases(calls);
            if (hasRounds())
                inner_->finish();
        }
        captured_ = true;
        // The first replay uploads the graphs to the device.
        for (auto& [key, graph] : graphs_)
            graph.replay();
        device_.synchronize();
        captureTime_ = TraceClock::now() - began;
    }

    std::vector<EnvironmentEntry> facts() const override
    {
        std::vector<EnvironmentEntry> facts = inner_->facts();
        facts.push_back(
            {"result.capture_time", std::to_string(static_cast<double>(captureTime_.count()) / 1e6), "ms"});
        return facts;
    }

    void run(Phase phase) override
    {
        if (!captured_)
            return inner_->run(phase);
        graphs_.at({step_, phase}).replay();
        inner_->replayed(phase);
    }

    void finish() override
    {
        if (!captured_ || hasRounds())
            inner_->finish();
    }

    bool has(Phase phase) const override { return inner_->has(phase); }
    bool runsWholeSteps() const override { return captured_ && timing_ == StepTiming::Step; }
    std::optional<std::int64_t> parameters() const override { return inner_->parameters(); }
    std::optional<double> loss() const override { return inner_->loss(); }
    bool computesLoss() const override { return inner_->computesLoss(); }
    void visitHeld(const HoldVisitor& visit) const override { inner_->visitHeld(visit); }
    // Replays build no autograd graph; that of the capture was consumed by its backward.
    at::Tensor graphRoot() const override { return captured_ ? at::Tensor() : inner_->graphRoot(); }
    void visitSaved(const SavedVisitor& visit) const override { inner_->visitSaved(visit); }
    std::optional<Bytes> heldBeforeBackward() const override { return heldBeforeBackward_; }

private:
    bool hasRounds() const { return stepsOfRound() > 1; }
    bool runsPhase(Phase phase) const { return inner_->has(phase) && inner_->isInStep(phase); }

    void runEagerly()
    {
        prepare();
        for (const Phase phase : kPhasesInOrder)
            if (runsPhase(phase))
                inner_->run(phase);
        inner_->finish();
    }

    void capturePhases(const CaptureCalls& calls)
    {
        // The first graph creates a pool, distinct from those of packages; the other graphs share it.
        for (const Phase phase : kPhasesInOrder)
            if (runsPhase(phase)) {
                calls.before(phase);
                capture(phase, pool_, [&] { runPhase(phase); });
                calls.after(phase);
                pool_ = graphs_[{step_, phase}].pool();
            }
    }

    void captureStep(const CaptureCalls& calls)
    {
        capture(Phase::Step, {}, [&] {
            for (const Phase phase : kPhasesInOrder)
                if (runsPhase(phase)) {
                    calls.before(phase);
                    runPhase(phase);
                    calls.after(phase);
                }
        });
    }

    void runPhase(Phase phase)
    {
        if (phase == Phase::Backward)
            heldBeforeBackward_ = device_.memory().allocated;
        const trace::ScopedRange range(wordOf(phase));
        inner_->run(phase);
    }

    template <class Work> void capture(Phase phase, c10::MempoolId_t pool, const Work& work)
    {
        at::cuda::CUDAGraph& graph = graphs_[{step_, phase}];
        // Replays of a node belong to the ranges in which it was captured.
        const trace::ScopedRange step("step", "capture");
        graph.capture_begin(pool);
        try {
            work();
            graph.capture_end();
        } catch (const c10::OutOfMemoryError&) {
            abandon(graph);
            throw;
        } catch (const c10::Error& error) {
            abandon(graph);
            throw Unsupported{c10::str("this step cannot be captured as a CUDA graph: ",
                                       condensed(error.what_without_backtrace()))};
        }
    }

    // Ends the capture, because the stream must leave capture mode. Errors are ignored: the failure is
    // already known.
    static void abandon(at::cuda::CUDAGraph& graph)
    {
        try {
            graph.capture_end();
        } catch (const c10::Error&) {
        }
    }

    // Declared before the graphs so that the graphs are destroyed first, then the tensors in their pool.
    std::unique_ptr<Experiment> inner_;
    const Device& device_;
    StepTiming timing_;
    std::map<std::pair<int, Phase>, at::cuda::CUDAGraph> graphs_; // by step of the round, in step order
    c10::MempoolId_t pool_{};
    int step_ = 0; // of the round
    int nextStep_ = 0;
    std::optional<Bytes> heldBeforeBackward_;
    Nanoseconds captureTime_{}; // capture time of all phases, including the upload to the device
    bool captured_ = false;
};

} // namespace

std::unique_ptr<Experiment> makeGraphed(std::unique_ptr<Experiment> inner, const Device& device,
                                        StepTiming timing)
{
    if (!device.isCuda())
        throw Unsupported{"a CUDA graph needs a GPU and this point runs on the CPU"};
    return std::make_unique<GraphedExperiment>(std::move(inner), device, timing);
}

} // namespace tilescope::engine
