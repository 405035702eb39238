#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope {

/// `text` as one word of a POSIX shell. Characters that a terminal would obey are spelled as bash, ksh and
/// zsh read them ($'\n'), so that the word can be printed.
std::string shellWord(std::string_view text);

/// A file's name as one word that no program takes for an option.
std::string shellPath(const std::filesystem::path& path);

} // namespace tilescope
