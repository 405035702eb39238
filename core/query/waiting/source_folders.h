#pragma once

#include "core/store/run_reader.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::query {

/// Where the files of a recording's stacks lie: stacks name files as their package does, or by their path from the folder
/// in which the program ran.
struct SourceFolders {
    std::vector<std::filesystem::path> folders = {}; ///< of the program, then of packages; may be empty
    std::string host = {};                           ///< that recorded; empty: unknown
    std::int64_t startedUnixNs = 0;                  ///< of the run
};

SourceFolders sourceFolders(const store::RunReader& reader, RunId run);

/// The text around a function of a recording, as the file has it now.
struct SourceText {
    std::filesystem::path file = {};     ///< that was read
    std::vector<std::string> lines = {}; ///< all lines, as the file has them
    std::string why = {};                ///< why there is none, as a sentence; then `lines` is empty
};

/// Reads the source of a function from disk. Text that cannot be what ran is not returned: a file that was changed since
/// the run began, or that does not have the function at its line.
/// \param function  "train.py(12): step" (HostStack::function)
/// \param thisHost  name of this machine
SourceText sourceOf(const SourceFolders& folders, const std::string& function, const std::string& thisHost);

} // namespace tilescope::query
