#pragma once

#include "core/exchange/tables/table.h"

#include <cstddef>
#include <iosfwd>

namespace tilescope::report {

/// The columns for people that have values, as a Markdown table, followed by the table's notes.
/// \param limit  the maximum number of rows; 0: all
void writeMarkdownTable(std::ostream& out, const exchange::Table& table, std::size_t limit);

} // namespace tilescope::report
