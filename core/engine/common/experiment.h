#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace tilescope::engine {

class Device;

/// The phases that a step can have, in the order in which they run.
inline constexpr std::array kPhasesInOrder{Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer};

/// The tensors of one point and what each phase of its step does with them. Session thread.
///
/// A step is prepare(), then the phases of the mode in order, then finish(). Only the phases are timed.
class Experiment {
public:
    virtual ~Experiment() = default;
    Experiment() = default;
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    /// What must be ready before a step: its inputs, and gradients set to none.
    virtual void prepare()
    {
        dropGradients();
        refreshInputs();
    }
    /// Puts the inputs of the next step where the last ones were.
    virtual void refreshInputs() = 0;
    virtual void dropGradients() = 0;
    /// Called once, between warm-up and the timed steps. Calls `before` with each phase that it captures as a
    /// CUDA graph, before it does.
    virtual void settle(const std::function<void(Phase)>& /*before*/) {}
    /// What settle() found out; becomes facts of the run, keyed `result.…`.
    virtual std::vector<EnvironmentEntry> facts() const { return {}; }
    /// Runs one phase; never Phase::Step.
    virtual void run(Phase phase) = 0;
    /// Lets go of what the step made: outputs, loss, autograd graph.
    virtual void finish() = 0;

    /// Whether a step in its mode has that phase.
    virtual bool has(Phase phase) const = 0;
    /// Parameters of the model; none where there is no model.
    virtual std::optional<std::int64_t> parameters() const { return {}; }
    /// Value of the loss of the step that just ran, before finish(); waits for the device.
    virtual std::optional<double> loss() const = 0;
    /// Tells what it holds between steps and, after backward, the gradients.
    virtual void visitHeld(const HoldVisitor& visit) const = 0;
    /// Output or loss of the step that is running, from which backward starts; undefined before and after.
    virtual at::Tensor graphRoot() const = 0;
    /// Bytes allocated between forward and backward, where the allocator cannot tell it during a step.
    virtual std::optional<Bytes> heldBeforeBackward() const { return {}; }
};

/// \throws Unsupported  where the device, build or backend cannot do it
/// \throws Error        where the spec is no experiment
std::unique_ptr<Experiment> makeExperiment(const ExperimentSpec& spec, const Device& device);
std::unique_ptr<Experiment> makeAttentionExperiment(const ExperimentSpec& spec, const Device& device);
std::unique_ptr<Experiment> makeLmExperiment(const ExperimentSpec& spec, const Device& device);
/// What AOTInductor made, forward only (compile: package:FILE.pt2). A package is a program: it is run as it
/// is.
std::unique_ptr<Experiment> makePackagedExperiment(const ExperimentSpec& spec, const Device& device);

} // namespace tilescope::engine
