#pragma once

#include "core/base/terminal_text.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tilescope::exchange {

// Names come from files, and files from anybody. What is written to a terminal, a JSON document or a CSV file
// is escaped for it, so that no name can move a cursor, break a document or start a formula.

using tilescope::escapeForTerminal;

/// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string jsonString(std::string_view text);

/// The text with U+FFFD for bytes that are not UTF-8.
std::string validUtf8(std::string_view text);

/// A JSON number: the shortest that reads back as the same double; `null` for what is not finite.
std::string jsonNumber(double value);

/// A CSV field: quoted where it must be; text that a spreadsheet would take for a formula (=, +, -, @, tab,
/// return at its beginning) gets an apostrophe in front; control characters but tab and end of line are
/// spelled out. RFC 4180.
std::string csvField(std::string_view text);

/// Columns that escaped text takes on a terminal: wide (East Asian) characters two, combining ones none.
std::size_t displayWidth(std::string_view text);

/// The text in at most `width` columns: its middle replaced by an ellipsis where it is longer, because both
/// the beginning and the end of a kernel's name tell it apart.
std::string elideMiddle(std::string_view text, std::size_t width);

} // namespace tilescope::exchange
