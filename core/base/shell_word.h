#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// `text` quoted as one word of a POSIX shell. Control characters use the $'\n' syntax of bash, ksh and zsh,
/// so that printing the word is safe.
std::string shellWord(std::string_view text);

/// The words of a command line, as a shell splits it at blanks, with its quotes and backslashes. Nothing is expanded.
/// \throws Error  a quote is not closed; a character that has a meaning to a shell, such as | or *, is not quoted
std::vector<std::string> splitShellWords(std::string_view line);

/// A file name as one word that no program takes for an option.
std::string shellPath(const std::filesystem::path& path);

} // namespace tilescope
