#pragma once

#include "tests/support/simulator/execution.h"

#include <nlohmann/json.hpp>

namespace tilescope::simulator {

/// What PyTorch's profiler would have recorded of a rank: ops, annotations, CUDA calls, kernels, copies,
/// memsets, and waits if the program has records of them. Times are of the clock of that rank.
nlohmann::json kinetoRecording(const SimulatedProgram& program, const Execution& execution, std::size_t rank);

} // namespace tilescope::simulator
