#pragma once

#include "core/report/blocks.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::report {

/// Divides a table that is wider than an A4 page into parts that are not. Each part repeats the keys of the
/// rows and is about as wide as the others. O(cells).
std::vector<TablePart> partsOf(const Table& table);

/// Whether a column has sentences, which break into lines.
bool hasSentences(const Table& table, std::size_t column);

/// The width of a part in characters, with the space between columns.
std::size_t widthOf(const TablePart& part);

/// Divides a text into pieces between which a line may break: long words have breaks behind punctuation, and
/// every 16 characters. Joined they are the text.
std::vector<std::string_view> breakable(std::string_view text);

} // namespace tilescope::report
