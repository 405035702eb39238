#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Parts of messages about specs.

namespace tilescope::config {

/// Quotes a text for a message: 'text', cut at 40 characters, with unprintable characters replaced by `_`.
std::string shown(std::string_view text);

/// Joins words with commas: a, b, c.
std::string joined(std::span<const std::string> words);

/// "did you mean 'flash'? " if one of the words is similar; otherwise empty.
std::string question(std::string_view typed, std::span<const std::string> words);

/// A remedy in command-line spelling: `write compile: none` becomes `write --compile none`, or `write --set
/// compile=none` if `flag` is a --set.
std::string asFlags(std::string remedy, std::string_view flag);

} // namespace tilescope::config
