#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::record {

/// The words of a command joined by blanks, with `***` in place of secrets; see SecretMask.
std::string maskedCommandLine(const std::vector<std::string>& words);

/// The words of a file of /proc in which each ends with a zero byte: cmdline, environ. None if it cannot be read.
std::vector<std::string> wordsOfFile(const std::filesystem::path& file);

} // namespace tilescope::record
