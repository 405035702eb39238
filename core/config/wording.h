#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Pieces of sentences about specs.

namespace tilescope::config {

/// 'text' fit for one line of a terminal: what cannot be shown becomes `_`, cut at 40 characters.
std::string shown(std::string_view text);

/// a, b, c
std::string joined(std::span<const std::string> words);

/// "did you mean 'flash'? " where one of the words is near, else nothing.
std::string question(std::string_view typed, std::span<const std::string> words);

} // namespace tilescope::config
