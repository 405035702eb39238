#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/base/quantity.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace tilescope::exchange {

/// JSON text that is written unchanged: nested values such as a run's parameters. On a terminal it is shown
/// as text.
struct RawJson {
    std::string text;
};

/// One value of a table. monostate means not measured: null in JSON, an empty field in CSV, a dash on a
/// terminal. An interval is `[low, high]` in JSON and CSV and `low to high` on a terminal.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, analysis::Statistics,
                          analysis::ConfidenceInterval, RawJson>;

// The unit determines how a terminal shows a number; JSON and CSV contain the plain value.
using quantity::Unit;

/// The formats that contain a column.
enum class Audience {
    Everyone,
    People,   ///< terminal only: shortened or merged for reading
    Programs, ///< JSON and CSV only
};

/// The kind of a column's values; determines their colour, and in the window the sign of differences.
enum class Meaning { Plain, Status, Severity, Verdict, Difference };

struct Column {
    std::string key = {};   ///< name in JSON and CSV
    std::string title = {}; ///< heading on a terminal
    /// Heading in a list with little room; empty: the title.
    std::string shortTitle = {};
    std::function<Cell(std::size_t row)> cell = {};
    Unit unit = Unit::None;
    Audience audience = Audience::Everyone;
    Meaning meaning = Meaning::Plain;
    bool statistic = false; ///< cells are Statistics or null; CSV has a field for each figure
    bool elidable = false;  ///< long text that may be shortened to fit the terminal, as elideMiddle() does
    bool hasPairs = false;  ///< an elidable text is `key=value` pairs and is shortened as elidePairs() does
    int keep = 1;           ///< narrow terminals drop columns with the lowest value first; 2: never
    /// Columns of a table whose values are compared have the same number, above 0: those whose `unit` is the same
    /// get one scale.
    int unitGroup = 0;
};

/// A table for a terminal, JSON or CSV. Columns compute their cells on demand, so a million rows need no
/// memory as text. The functions keep the data they refer to alive.
struct Table {
    std::string heading = {}; ///< a line above a terminal table; may be empty
    std::vector<Column> columns = {};
    std::size_t rows = 0;
    std::string whyEmpty = {};           ///< a sentence that a terminal shows instead of a table without rows
    std::vector<std::string> notes = {}; ///< lines under a terminal table
};

/// How a terminal table is drawn.
struct TerminalStyle {
    std::size_t width = 0; ///< columns of the terminal; 0: no limit (a pipe)
    bool colour = false;
    std::size_t limit = 0; ///< maximum number of rows; 0: all
};

/// The style for standard output: width and colours if it is a terminal (COLUMNS overrides the width;
/// NO_COLOR and TERM=dumb disable colours), neither otherwise.
TerminalStyle styleOfStandardOutput();

/// Writes the table as aligned text: numbers right-aligned with three significant digits and one unit per
/// column. Columns that share a unit use that of their largest value, or the next smaller one if some column
/// would have only values below 0.1: 1,234 and 1,235 ms differ by 0.312 ms. Shortens names, then drops columns
/// (and lists them) until the table fits.
///
/// Reads each cell once, row by row.
void writeTerminal(std::ostream& out, const Table& table, const TerminalStyle& style);

/// One value as JSON.
std::string cellJson(const Cell& cell);

/// An array of objects, one per line.
void writeJson(std::ostream& out, const Table& table);

/// RFC 4180 with a header. A statistic becomes one field per figure: step_ms.mean, step_ms.std …
void writeCsv(std::ostream& out, const Table& table);

} // namespace tilescope::exchange
