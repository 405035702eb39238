#pragma once

#include "core/record/working_file.h"

#include <cstdint>

namespace tilescope::record {

/// What identifies this process: pid, host, name, command line with secrets masked, rank and number of ranks as
/// torchrun, Slurm or Open MPI set them, and its clocks. The rest of the environment is not looked at.
ProcessFacts factsOfThisProcess();
/// The process id of the `tilescope record` that started the program; 0 if it is not known.
std::int64_t recorderOfThisProcess();

} // namespace tilescope::record
