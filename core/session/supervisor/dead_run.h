#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/session/protocol/working_copy.h"

#include <filesystem>
#include <string>

namespace tilescope::session {

/// The known facts about a point whose engine died.
struct DeadRun {
    RunId run;              ///< its number; none if the engine did not report it
    std::int64_t point = 0; ///< its position in the whole sweep
    RunId lastSeen;         ///< highest run number in the file before this point
    RunStatus status = RunStatus::Error;
    std::string reason;
    Nanoseconds duration{0};
};

/// Ends the run of a point whose engine died: the run that the engine began, or a new run if it began none.
/// Opens the file for writing, so the engine must have ended.
/// \return        the run's number
/// \throws Error  the file cannot be written
RunId recordDeath(const std::filesystem::path& file, const ExperimentSpec& spec, const DeadRun& death,
                  const WorkingCopy::Log& log);

/// Seals a file whose last writer ended without sealing it. Does nothing if the file is sealed, does not exist or has a writer.
/// \throws Error  the file cannot be written
void sealLeftOpen(const std::filesystem::path& file, const WorkingCopy::Log& log);

/// The highest run number in a file; 0 if the file does not exist or is empty.
/// \throws Error  the file is not a Tilescope file, is newer or is damaged
RunId lastRunOf(const std::filesystem::path& file);

} // namespace tilescope::session
