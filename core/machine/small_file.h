#pragma once

#include <filesystem>
#include <string>

namespace tilescope::machine {

/// The content of a small text file (/proc, /sys, a release file), at most 1 MiB; empty if it cannot be read.
std::string readSmallFile(const std::filesystem::path& file);

/// The file's first line, without trailing white space.
std::string readFirstLine(const std::filesystem::path& file);

} // namespace tilescope::machine
