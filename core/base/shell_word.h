#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope {

/// `text` quoted as one word of a POSIX shell. Control characters use the $'\n' syntax of bash, ksh and zsh,
/// so that printing the word is safe.
std::string shellWord(std::string_view text);

/// A file name as one word that no program takes for an option.
std::string shellPath(const std::filesystem::path& path);

} // namespace tilescope
