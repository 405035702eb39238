#pragma once

#include "core/model/phases.h"
#include "core/model/spec.h"
#include "core/predict/ops.h"
#include "core/predict/target_device.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilescope::predict {

/// The memory of one point: the tensors held between steps and the allocations of each phase. The counterpart
/// of engine::Experiment, with the same phases in the same order.
class ExperimentMemory {
public:
    virtual ~ExperimentMemory() = default;
    /// Whether a step in this mode has the phase.
    virtual bool has(Phase phase) const = 0;
    /// In mode generate: the token, counted from 0, of the next phases.
    virtual void setToken(std::int64_t /*token*/) {}
    virtual void dropGradients() = 0;
    virtual void run(Phase phase) = 0;
    /// Frees what the step allocated.
    virtual void finish() = 0;
};

/// Whether points of the spec can be replayed. Requires a workload that has steps, with known operations.
bool isReplayable(const ExperimentSpec& spec);

/// Whether the steps of a point are replays of CUDA graphs.
bool isCaptured(const ExperimentSpec& spec, const TargetDevice& device);

/// The device as seen by one process of the spec: with the spec's number of threads, if set. Ranks share the
/// threads and the memory of a CPU equally.
TargetDevice usedBy(const ExperimentSpec& spec, TargetDevice device);

/// The memory of a point that isReplayable(): one of those below.
/// \param ops  must outlive the result
std::unique_ptr<ExperimentMemory> makeExperimentMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                       Ops& ops);
std::unique_ptr<ExperimentMemory> makeLmMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                               Ops& ops);
std::unique_ptr<ExperimentMemory> makeFusedLmMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                    Ops& ops);
std::unique_ptr<ExperimentMemory> makeGenerationMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                       Ops& ops);
/// The tokens of a generation whose steps determine its memory, in order: all, or evenly spaced ones with the first and
/// the last.
std::vector<std::int64_t> replayedTokens(const ExperimentSpec& spec);
std::unique_ptr<ExperimentMemory> makeAttentionMemory(const ExperimentSpec& spec, const TargetDevice& device,
                                                      Ops& ops);

} // namespace tilescope::predict
