#pragma once

#include "ui/kit/number_text.h"
#include "ui/kit/table_model.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// \param width  design pixels; 0: takes the remaining width
TableColumn makeColumn(const QString& title, TableColumn::Kind kind, double width, bool dim = false);

/// \param exact  full value, on hover and on copy; empty: the text
TableCell makeWords(const QString& text, const QString& exact = {}, Tone tone = Tone::Plain);

/// A number in the unit of its column, sorted by its value. A dash, sorted last, if there is none.
/// \param exact  makes the full value: exactTime or exactBytes
TableCell makeNumber(std::optional<double> value, const Unit& unit, QString (*exact)(std::int64_t) = nullptr);

/// The same of a row that one of two sides may lack: sorted as 0 there.
TableCell makePart(std::optional<double> value, const Unit& unit, QString (*exact)(std::int64_t) = nullptr);

/// A number of things, which may be a mean; a dash for 0.
TableCell makeCount(double count);

/// What `part` is of `whole` in percent with one decimal, <0.1 for less; sorted by `part`. A dash if `whole` is 0.
TableCell makeShare(double part, double whole);

/// B − A in the unit of its column, sorted by its value.
TableCell makeDifference(double difference, const Unit& unit, Tone tone);

/// The title of a column that carries its unit: "Total, ms". Only the unit if `title` is empty.
QString titleIn(const QString& title, const Unit& unit);

/// As long as `part` is of `most`, and sorted by it.
TableCell makeBar(double part, double most);

/// The columns of a table, each defined once: how it looks, and the cell of a row.
template <class Row> class TableMaker {
public:
    /// \param cell  returns a TableCell
    /// \return      the column, to complete it
    template <class Cell> TableColumn& add(TableColumn column, Cell cell)
    {
        cells_.emplace_back(std::move(cell));
        return columns_.emplace_back(std::move(column));
    }
    TableRow row(const Row& row) const
    {
        TableRow made;
        for (const auto& cell : cells_)
            made.cells.push_back(cell(row));
        return made;
    }
    /// A row for each of `rows`; its id is its index.
    /// \param swatch  returns a row's swatch
    template <class Swatches> TableData table(const std::vector<Row>& rows, Swatches swatch) const
    {
        TableData data{columns_, {}};
        for (const Row& each : rows) {
            data.rows.push_back(row(each));
            data.rows.back().swatch = std::invoke(swatch, each);
            data.rows.back().id = std::int64_t(data.rows.size()) - 1;
        }
        return data;
    }

private:
    std::vector<TableColumn> columns_;
    std::vector<std::function<TableCell(const Row&)>> cells_;
};

} // namespace tilescope::ui
