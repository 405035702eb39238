#pragma once

#include "core/base/terminal_text.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

// Names come from files and are untrusted. Output to a terminal, JSON or CSV is escaped, so that no name can
// move the cursor, break a document or start a formula.

using tilescope::escapeForTerminal;
using tilescope::validUtf8;

/// A JSON string including its quotes; invalid UTF-8 becomes U+FFFD.
std::string jsonString(std::string_view text);

/// The words with commas between them.
std::string joined(const std::vector<std::string>& words);

/// A JSON number: the shortest that parses to the same double; `null` if it is not finite.
std::string jsonNumber(double value);

/// A CSV field (RFC 4180), quoted if necessary. A text that a spreadsheet would interpret as a formula
/// (starting with =, +, -, @, tab or return) gets a leading apostrophe. Control characters other than tab and
/// line end are escaped.
std::string csvField(std::string_view text);

/// The number of terminal columns of an escaped text: two for wide (East Asian) characters, zero for
/// combining ones.
std::size_t displayWidth(std::string_view text);

/// The text in at most `width` columns. A longer text gets an ellipsis in its middle, because kernel names
/// differ at their beginning and end.
std::string elideMiddle(std::string_view text, std::size_t width);

/// A text of `key=value` pairs that are separated by spaces, in at most `width` columns. A longer text keeps its
/// first pairs whole and ends with the number of pairs that are left out: `backend=flash … +2`. If not even the
/// first pair fits, its end is cut. Words without `=` belong to the pair before them. In a text without any `=`, what is
/// between commas counts as a pair: `busy-host … +1`.
std::string elidePairs(std::string_view text, std::size_t width);

/// Such texts of the rows of a table, each in at most `width` columns if its keys allow that: all rows leave out the same
/// keys, and keep those that together tell most rows apart. Texts that are still too long begin with the key that tells
/// most apart; elidePairs() shortens them.
std::vector<std::string> elidePairsAlike(const std::vector<std::string>& texts, std::size_t width);

} // namespace tilescope::exchange
