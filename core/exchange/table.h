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

/// JSON text that stands as it is: nested values such as a run's parameters. On a terminal it is shown as
/// text.
struct RawJson {
    std::string text;
};

/// One value of a table. monostate is "not measured": null in JSON, an empty field in CSV, a dash on a
/// terminal.
using Cell =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, analysis::Statistics, RawJson>;

// What a number counts decides how a terminal shows it; JSON and CSV give it as it is.
using quantity::Unit;

/// Who sees a column.
enum class Audience {
    Everyone,
    People,   ///< terminal only: shortened or merged for reading
    Programs, ///< JSON and CSV only
};

/// How a column's values read; decides their colour.
enum class Meaning { Plain, Status, Severity, Verdict, Share };

struct Column {
    std::string key = {};   ///< name in JSON and CSV
    std::string title = {}; ///< heading on a terminal
    std::function<Cell(std::size_t row)> cell = {};
    Unit unit = Unit::None;
    Audience audience = Audience::Everyone;
    Meaning meaning = Meaning::Plain;
    bool statistic = false; ///< its cells are Statistics or null: in CSV a field for each figure
    bool elidable = false;  ///< long text that may lose its middle to fit the terminal
    int keep = 1;           ///< narrow terminals drop columns with the lowest first; 2: never
};

/// A table that a terminal, JSON or CSV can show: columns that give their cells on demand, so that a million
/// rows are never held as text. What the cells refer to is kept alive by the functions themselves.
struct Table {
    std::string heading = {}; ///< one line above a terminal table; empty for none
    std::vector<Column> columns = {};
    std::size_t rows = 0;
    std::string whyEmpty = {};           ///< sentence shown on a terminal instead of a table without rows
    std::vector<std::string> notes = {}; ///< lines under a terminal table
};

/// How a terminal table is drawn.
struct TerminalStyle {
    std::size_t width = 0; ///< columns of the terminal; 0 for no limit (a pipe)
    bool colour = false;
    std::size_t limit = 0; ///< most rows shown; 0 for all
};

/// The style for standard output: its width and colours where it is a terminal (COLUMNS overrides the width,
/// NO_COLOR and TERM=dumb switch colours off), neither where it is not.
TerminalStyle styleOfStandardOutput();

/// The table as aligned text: numbers to the right with three significant digits in one unit a column, names
/// elided in the middle and columns dropped (and named) until it fits.
void writeTerminal(std::ostream& out, const Table& table, const TerminalStyle& style);

/// One value as JSON.
std::string cellJson(const Cell& cell);

/// An array of objects, one a line.
void writeJson(std::ostream& out, const Table& table);

/// RFC 4180 with a header. A statistic becomes one field for each of its figures: step_ms.mean, step_ms.std …
void writeCsv(std::ostream& out, const Table& table);

} // namespace tilescope::exchange
