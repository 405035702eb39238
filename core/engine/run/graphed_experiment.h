#pragma once

#include "core/engine/common/experiment.h"

namespace tilescope::engine {

/// Wraps an experiment; replays its step from CUDA graphs: one per phase, or one of all phases for
/// StepTiming::Step. If steps are only run in rounds, each step of the round has its own graphs.
///
/// Warm-up runs eagerly. settle() then captures the phases in order into one memory pool. All calls must use
/// one stream other than the default stream.
/// \throws Unsupported  on a CPU; from settle() if the step cannot be captured
std::unique_ptr<Experiment> makeGraphed(std::unique_ptr<Experiment> inner, const Device& device,
                                        StepTiming timing);

} // namespace tilescope::engine
