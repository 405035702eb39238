#include "ui/kit/section_table.h"

#include "ui/kit/table_cells.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace tilescope::ui {

namespace {

// The size of the number in a cell; none if it is no number.
std::optional<double> numberOf(const exchange::Cell& cell)
{
    if (const auto* whole = std::get_if<std::int64_t>(&cell))
        return std::abs(double(*whole));
    if (const auto* real = std::get_if<double>(&cell))
        return std::abs(*real);
    if (const auto* statistics = std::get_if<analysis::Statistics>(&cell))
        return std::abs(statistics->median);
    return {};
}

// In design pixels, for a text of that many characters.
double widthFor(qsizetype characters)
{
    constexpr double kCharacter = 7;
    constexpr double kPadding = 20;
    constexpr double kMost = 260;
    return std::min(kMost, kPadding + kCharacter * double(characters));
}

} // namespace

TableData sectionTable(const exchange::Table& table, std::size_t most)
{
    const std::size_t count = std::min(table.rows, most);
    TableData data;
    data.rows.resize(count);
    for (std::size_t row = 0; row < count; ++row)
        data.rows[row].id = std::int64_t(row);
    // Columns may share a unit, which is known only when all of them are.
    struct Shown {
        const exchange::Column* column;
        std::vector<exchange::Cell> cells = {};
        std::shared_ptr<const Unit> unit = {};
        bool isNumber = false;
    };
    std::vector<Shown> columns;
    ColumnUnits units;
    for (const exchange::Column& column : table.columns) {
        if (column.audience == exchange::Audience::Programs)
            continue;
        Shown& shown = columns.emplace_back(Shown{.column = &column});
        double largest = 0;
        for (std::size_t row = 0; row < count; ++row) {
            shown.cells.push_back(column.cell(row));
            if (const std::optional<double> number = numberOf(shown.cells.back())) {
                shown.isNumber = true;
                largest = std::max(largest, *number);
            }
        }
        shown.unit = units.add(column, largest);
    }
    bool hasWide = false;
    for (const auto& [column, cells, unit, isNumber] : columns) {
        qsizetype longest = 0;
        for (std::size_t row = 0; row < count; ++row) {
            data.rows[row].cells.push_back(makeCell(cells[row], *column, *unit));
            longest = std::max(longest, data.rows[row].cells.back().text.size());
        }
        const bool isWide = column->elidable && !hasWide;
        hasWide = hasWide || isWide;
        data.columns.push_back(makeColumn(titleIn(titleOf(*column), *unit),
                                          isNumber ? TableColumn::Kind::Number : TableColumn::Kind::Text, 0,
                                          column->keep == 0));
        if (!isWide)
            data.columns.back().width = widthFor(std::max(longest, data.columns.back().title.size()));
    }
    if (!hasWide && !data.columns.empty())
        data.columns.front().width = 0;
    return data;
}

QString sectionNotes(const exchange::Table& table)
{
    QStringList notes;
    for (const std::string& note : table.notes)
        notes << QString::fromStdString(note);
    return notes.join(QLatin1Char(' '));
}

} // namespace tilescope::ui
