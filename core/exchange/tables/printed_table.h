#pragma once

#include "core/exchange/tables/table.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// The absolute value of a number, which determines its column's unit; none for a cell without one.
std::optional<double> sizeOf(const Cell& cell);

/// A column ready for printing: every cell as text with the unit of its column, escaped for a terminal.
struct Printed {
    const Column* column = nullptr;
    std::string title;
    std::vector<std::string> cells;
    double largest = 0;    ///< absolute value
    std::size_t width = 0; ///< of the widest cell or the title, in columns of a terminal
    bool right = false;    ///< numbers
    bool hasValues = false;
};

/// The first `rows` rows of the columns for people. Reads each cell once, because a table may compute its rows on
/// demand. The largest value of a column determines its unit, which the title states.
std::vector<Printed> printed(const Table& table, std::size_t rows);

} // namespace tilescope::exchange
