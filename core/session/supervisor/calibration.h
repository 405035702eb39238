#pragma once

#include "core/model/run.h"

#include <filesystem>
#include <vector>

namespace tilescope::session {

/// The file that keeps what this user's devices reach (`tilescope doctor --ceilings`): TILESCOPE_CALIBRATION,
/// or tilescope/ceilings.tscope in XDG_DATA_HOME or ~/.local/share. Empty where there is no home.
std::filesystem::path calibrationFile();

/// Ceilings of all devices that the calibration and `file` hold; those of a file that is not there are none.
/// \throws Error  a file is no file of Tilescope's
std::vector<Ceiling> knownCeilings(const std::filesystem::path& file = {});

} // namespace tilescope::session
