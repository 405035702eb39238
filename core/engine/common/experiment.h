#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tilescope::engine {

class Device;
class Ranks;

/// The phases that a step can have, in execution order.
inline constexpr std::array kPhasesInOrder{Phase::Forward,   Phase::Loss,       Phase::Backward,
                                           Phase::Optimizer, Phase::Collective, Phase::Prefill,
                                           Phase::Decode,    Phase::Sample};

/// Called around the capture of each phase: before and after its graph, or while the graph of the step is
/// captured.
struct CaptureCalls {
    std::function<void(Phase)> before;
    std::function<void(Phase)> after;
};

/// The tensors of one point and the work of each phase of its step. Session thread.
///
/// A step is prepare(), then the phases of the mode in order, then finish(). Only the phases are timed.
class Experiment {
public:
    virtual ~Experiment() = default;
    Experiment() = default;
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    /// Prepares a step: refreshes the inputs and sets gradients to none.
    virtual void prepare()
    {
        dropGradients();
        refreshInputs();
    }
    /// Overwrites the inputs with those of the next step.
    virtual void refreshInputs() = 0;
    virtual void dropGradients() = 0;
    /// Called once, between warm-up and the timed steps. Captures CUDA graphs if the experiment has any.
    virtual void settle(const CaptureCalls& /*calls*/) {}
    /// Whether run(Phase::Step) runs all phases, as one CUDA graph. Only after settle().
    virtual bool runsWholeSteps() const { return false; }
    /// Results of settle(); stored as facts of the run, keyed `result.…`.
    virtual std::vector<EnvironmentEntry> facts() const { return {}; }
    /// Number of steps that are only run together, in order: the tokens of a generation.
    virtual int stepsOfRound() const { return 1; }
    /// Whether the step that prepare() began has the phase, one of those that has() names.
    virtual bool isInStep(Phase /*phase*/) const { return true; }
    /// Results computed from the median time of the timed steps; stored like facts().
    virtual std::vector<EnvironmentEntry> factsOf(Nanoseconds /*step*/) const { return {}; }
    /// Results computed after the timed steps, which may allocate memory; stored like facts().
    virtual std::vector<EnvironmentEntry> factsAfterSteps() const { return {}; }
    /// Runs one phase; Phase::Step only if runsWholeSteps().
    virtual void run(Phase phase) = 0;
    /// Called in place of run() after a CUDA graph of the phase was replayed.
    virtual void replayed(Phase /*phase*/) {}
    /// Frees what the step made: outputs, loss, autograd graph.
    virtual void finish() = 0;

    /// Whether a step in this mode has the phase.
    virtual bool has(Phase phase) const = 0;
    /// Number of parameters of the model; none if there is no model.
    virtual std::optional<std::int64_t> parameters() const { return {}; }
    /// Value of the loss of the current step, of this rank's batch, before finish(); waits for the device.
    virtual std::optional<double> loss() const = 0;
    /// Whether loss() only reads a number that the step computed. Otherwise it allocates memory for a sum.
    virtual bool computesLoss() const { return false; }
    /// Visits the tensors that are kept between steps and, after backward, the gradients.
    virtual void visitHeld(const HoldVisitor& visit) const = 0;
    /// Output or loss of the current step, the root of backward; undefined outside a step.
    virtual at::Tensor graphRoot() const = 0;
    /// Visits the tensors that the current step keeps for backward without an autograd graph: the path below
    /// step/forward, the op and the tensor. In the order of forward.
    using SavedVisitor =
        std::function<void(const std::string& path, const char* op, const at::Tensor& tensor)>;
    virtual void visitSaved(const SavedVisitor& /*visit*/) const {}
    /// Bytes allocated between forward and backward; none if the allocator reports them during a step.
    virtual std::optional<Bytes> heldBeforeBackward() const { return {}; }
};

/// \throws Unsupported  the device, build or backend does not support the spec
/// \throws Error        the workload has no steps
/// \param ranks  the ranks that share the step; null: this process alone. Must outlive the experiment.
std::unique_ptr<Experiment> makeExperiment(const ExperimentSpec& spec, const Device& device,
                                           Ranks* ranks = nullptr);
std::unique_ptr<Experiment> makeAttentionExperiment(const ExperimentSpec& spec, const Device& device);
std::unique_ptr<Experiment> makeCollectiveExperiment(const ExperimentSpec& spec, const Device& device,
                                                     Ranks& ranks);
std::unique_ptr<Experiment> makeLmExperiment(const ExperimentSpec& spec, const Device& device, Ranks* ranks);
/// The lm on fused kernels, without autograd (compile: fused).
std::unique_ptr<Experiment> makeFusedLmExperiment(const ExperimentSpec& spec, const Device& device,
                                                  Ranks* ranks);
/// The lm in mode generate.
std::unique_ptr<Experiment> makeGenerationExperiment(const ExperimentSpec& spec, const Device& device);
/// The lm compiled by TorchInductor (compile: inductor).
std::unique_ptr<Experiment> makeInductorLmExperiment(const ExperimentSpec& spec, const Device& device);
/// A package of AOTInductor, forward only (compile: package:FILE.pt2). A package is a program: loading it
/// executes its code.
std::unique_ptr<Experiment> makePackagedExperiment(const ExperimentSpec& spec, const Device& device);

} // namespace tilescope::engine
