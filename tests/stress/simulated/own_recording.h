#pragma once

#include "tests/support/simulator/execution.h"

#include <filesystem>

namespace tilescope::simulator {

/// Writes what `tilescope record --trace full` would store of a program of one rank.
/// \throws tilescope::Error  the file cannot be written
void writeOwnRecording(const SimulatedProgram& program, const Execution& execution,
                       const std::filesystem::path& file);

} // namespace tilescope::simulator
