#pragma once

#include "core/engine/common/experiment.h"

namespace tilescope::engine {

/// Wraps an experiment; replays each phase of its step from a CUDA graph.
///
/// Warm-up runs eagerly. settle() then captures the phases in order into one memory pool. All calls must use
/// one stream other than the default stream.
/// \throws Unsupported  on a CPU; from settle() if the step cannot be captured
std::unique_ptr<Experiment> makeGraphed(std::unique_ptr<Experiment> inner, const Device& device);

} // namespace tilescope::engine
