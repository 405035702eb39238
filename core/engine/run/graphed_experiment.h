#pragma once

#include "core/engine/common/experiment.h"

namespace tilescope::engine {

/// The same experiment with each phase of its step replayed from a CUDA graph.
///
/// Warm-up runs as it would without; settle() then captures the phases in order into one memory pool. All of
/// it must happen on one stream that is not the default one.
/// \throws Unsupported  on a CPU; from settle() where the step cannot be captured
std::unique_ptr<Experiment> makeGraphed(std::unique_ptr<Experiment> inner, const Device& device);

} // namespace tilescope::engine
