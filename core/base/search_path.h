#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope {

// Search paths such as PATH may contain empty and relative elements, which name the current folder and folders below
// it. A current folder that was cloned or is shared with others must not decide what Tilescope executes.

/// A search path without its empty and relative elements.
///
/// \param separators  what ends an element; the dynamic linker also accepts a semicolon
std::string withoutRelativeElements(std::string_view searchPath, std::string_view separators = ":");

/// The executable file that `name` means: `name` itself if it contains a slash, otherwise the first match in the
/// absolute elements of PATH (/bin and /usr/bin if PATH is unset). Empty if there is none.
std::filesystem::path findProgram(std::string_view name);

} // namespace tilescope
