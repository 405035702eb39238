#pragma once

#include <map>
#include <string>
#include <vector>

namespace tilescope {

// What posix_spawn() takes.

/// Pointers to the words, then null; valid while the words are.
std::vector<char*> pointersTo(std::vector<std::string>& words);

/// The environment of this process, `NAME=value`, with some variables replaced or added. The paths that decide which
/// programs, libraries and modules are loaded (PATH, LD_LIBRARY_PATH, PYTHONPATH) lose their relative elements.
std::vector<std::string> environmentWith(const std::map<std::string, std::string>& changes);

} // namespace tilescope
