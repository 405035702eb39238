#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/session/protocol/working_copy.h"

#include <filesystem>
#include <string>

namespace tilescope::session {

/// What is known of a point whose engine is dead.
struct DeadRun {
    RunId run;              ///< its number; none where the engine did not come to tell it
    std::int64_t point = 0; ///< its position in the whole sweep
    RunId lastSeen;         ///< highest run number in the file before this point
    RunStatus status = RunStatus::Error;
    std::string reason;
    Nanoseconds duration{0};
};

/// Gives the run of a point whose engine died its end: the run that the engine had begun, or a new one where
/// it had begun none. Opens the file as its writer, so the engine must be gone.
/// \return        the run's number
/// \throws Error  where the file cannot be written
RunId recordDeath(const std::filesystem::path& file, const ExperimentSpec& spec, const DeadRun& death,
                  const WorkingCopy::Log& log);

/// Seals a file whose last writer died before it did; nothing where that was done, where the file does not
/// exist, or while somebody writes it.
/// \throws Error  where the file cannot be written
void sealLeftOpen(const std::filesystem::path& file, const WorkingCopy::Log& log);

/// The highest run number in a file; 0 where the file does not exist or is empty.
/// \throws Error  where the file is not ours, newer or damaged
RunId lastRunOf(const std::filesystem::path& file);

} // namespace tilescope::session
