#pragma once

#include "core/base/file_descriptor.h"

#include <filesystem>

namespace tilescope::cli {

/// Holds the folder of a recording for this process, so that later recordings know that it is in use.
/// \return  keeps it as long as it lives; the folder can be followed by it where the program moves it
FileDescriptor holdFolder(const std::filesystem::path& folder);

/// Looks beside an output for folders of recordings whose `tilescope record` was killed. Those that no process uses are removed if
/// they hold nothing but what `tilescope record` itself put there; standard error names those that can be imported.
void tidyLeftFolders(const std::filesystem::path& output) noexcept;

} // namespace tilescope::cli
