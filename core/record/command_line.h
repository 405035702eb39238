#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::record {

/// The words of a command joined by blanks. The value of an option (`--api-token x`, `--api-token=x`) and of a
/// word `VAR=value` becomes `***` if its name contains token, key, secret or password, in either case.
std::string maskedCommandLine(const std::vector<std::string>& words);

/// The words of a file of /proc in which each ends with a zero byte: cmdline, environ. None if it cannot be read.
std::vector<std::string> wordsOfFile(const std::filesystem::path& file);

} // namespace tilescope::record
