#pragma once

#include "core/exchange/tables/table.h"

#include <string>

namespace tilescope::cli {

/// Writes the table to standard output.
/// \param format  table, json or csv
void printTable(const exchange::Table& table, const std::string& format);

} // namespace tilescope::cli
