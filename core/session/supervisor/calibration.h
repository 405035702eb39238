#pragma once

#include "core/model/run.h"

#include <filesystem>
#include <vector>

namespace tilescope::session {

/// The file with the ceilings of this user's devices (`tilescope doctor --ceilings`): TILESCOPE_CALIBRATION,
/// or tilescope/ceilings.tscope in XDG_DATA_HOME or ~/.local/share. Empty if there is no home folder.
std::filesystem::path calibrationFile();

/// Ceilings of all devices in the calibration and in `file`; none from a file that does not exist.
/// \throws Error  a file is not a Tilescope file
std::vector<Ceiling> knownCeilings(const std::filesystem::path& file = {});

} // namespace tilescope::session
