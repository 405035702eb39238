#pragma once

#include <filesystem>
#include <string>

namespace tilescope {

/// The program that is running.
std::filesystem::path executablePath();

/// Where presets, studies, rules and help pages lie: TILESCOPE_RESOURCES, else ../share/tilescope beside the
/// program.
/// \throws Error (Environment)  where neither is a folder
std::filesystem::path resourcesDirectory();

/// The text of a file that comes with Tilescope.
/// \throws Error (Environment)  where it cannot be read
std::string installedText(const std::filesystem::path& file);

/// A program of Tilescope's own: `variable` in the environment where it is set, else `name` beside the
/// running program.
std::filesystem::path siblingProgram(const char* variable, const char* name);

} // namespace tilescope
