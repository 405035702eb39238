#pragma once

#include "app/record/settings.h"
#include "core/record/working_file.h"

#include <sys/types.h>

namespace tilescope::record {

/// What identifies this process: pid, host, name, command line with secrets masked, rank and number of ranks as
/// torchrun, Slurm or Open MPI set them, and its clocks. The rest of the environment is not looked at.
/// For a thread with file descriptors of its own, or in callWithCopiedDescriptors().
/// \param process  the recorded one
ProcessFacts factsOfThisProcess(const Settings& settings, pid_t process);

} // namespace tilescope::record
