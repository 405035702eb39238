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

/// A remedy in the spelling of the command line: `write compile: none` as `write --compile none`, or as
/// `write --set compile=none` where `flag` is a --set.
std::string asFlags(std::string mend, std::string_view flag);

} // namespace tilescope::config
