#include "core/report/markdown_table.h"

#include "core/base/plural.h"
#include "core/exchange/tables/printed_table.h"
#include "core/report/escape.h"

#include <algorithm>
#include <optional>
#include <ostream>

namespace tilescope::report {

namespace {

/// \param row  none: the titles
void writeRow(std::ostream& out, const std::vector<exchange::Printed>& columns,
              std::optional<std::size_t> row)
{
    out << '|';
    for (const exchange::Printed& column : columns)
        out << ' ' << escapeMarkdown(row ? column.cells[*row] : column.title) << " |";
    out << '\n';
}

} // namespace

void writeMarkdownTable(std::ostream& out, const exchange::Table& table, std::size_t limit)
{
    const std::size_t rows = limit > 0 ? std::min(limit, table.rows) : table.rows;
    std::vector<exchange::Printed> columns = printed(table, rows);
    std::erase_if(columns, [](const exchange::Printed& column) { return !column.hasValues; });
    writeRow(out, columns, {});
    out << '|';
    for (const exchange::Printed& column : columns)
        out << (column.right ? " ---: |" : " --- |");
    out << '\n';
    for (std::size_t row = 0; row < rows; ++row)
        writeRow(out, columns, row);
    out << '\n';
    if (rows < table.rows)
        out << counted(static_cast<std::int64_t>(table.rows - rows), "more row") << ".\n\n";
    for (const std::string& note : table.notes)
        out << escapeMarkdown(note) << "\n\n";
}

} // namespace tilescope::report
