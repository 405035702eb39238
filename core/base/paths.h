#pragma once

#include <filesystem>
#include <string>

namespace tilescope {

/// The path of the running program.
std::filesystem::path executablePath();

/// The folder of presets, studies, rules and help pages: TILESCOPE_RESOURCES, otherwise ../share/tilescope
/// beside the program.
/// \throws Error (Environment)  neither is a folder
std::filesystem::path resourcesDirectory();

/// $XDG_CACHE_HOME/tilescope, otherwise ~/.cache/tilescope; empty if neither variable is set. It need not exist.
std::filesystem::path userCacheDirectory();

/// Reads a file that is installed with Tilescope.
/// \throws Error (Environment)  the file cannot be read
std::string installedText(const std::filesystem::path& file);

/// The path of another program of Tilescope: the environment variable `variable` if set, otherwise `name`
/// beside the running program.
std::filesystem::path siblingProgram(const char* variable, const char* name);

/// Whether a path still names the file of an open descriptor. Any thread.
bool isSameFile(int descriptor, const std::filesystem::path& path);

} // namespace tilescope
