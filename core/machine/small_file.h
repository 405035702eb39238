#pragma once

#include <filesystem>
#include <string>

namespace tilescope::machine {

/// The content of a small text file (/proc, /sys, a release file), at most 1 MiB; empty where it cannot be
/// read.
std::string readSmallFile(const std::filesystem::path& file);

/// Its first line, without trailing white space.
std::string readFirstLine(const std::filesystem::path& file);

} // namespace tilescope::machine
