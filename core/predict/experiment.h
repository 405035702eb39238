#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/predict/ops.h"
#include "core/predict/target_device.h"

#include <array>
#include <memory>

namespace tilescope::predict {

/// The memory of one point: what is held between steps, and what each phase of a step does with it. The
/// counterpart of engine::Experiment, with the same phases in the same order.
class ExperimentMemory {
public:
    virtual ~ExperimentMemory() = default;
    /// Whether a step in its mode has that phase.
    virtual bool has(Phase phase) const = 0;
    virtual void dropGradients() = 0;
    virtual void run(Phase phase) = 0;
    /// Lets go of what the step made.
    virtual void finish() = 0;
};

/// Whether points of that spec can be replayed: those with steps of operations that are known.
bool isReplayable(const ExperimentSpec& spec);

/// The device as the spec uses it: with the spec's threads, where it names them.
TargetDevice usedBy(const ExperimentSpec& spec, TargetDevice device);

/// The phases that a step can have, in the order in which they run.
inline constexpr std::array kStepPhases{Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer};

/// \param ops  outlives it
std::unique_ptr<ExperimentMemory> makeLmMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                               Ops& ops);
std::unique_ptr<ExperimentMemory> makeAttentionMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                      Ops& ops);

} // namespace tilescope::predict
