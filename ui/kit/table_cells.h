#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/exchange/tables/printed_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_model.h"

#include <cmath>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
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

/// A number of things, which may be a mean; a dash for 0.
TableCell makeCount(double count);

/// The title of a column that carries its unit: "Total, ms". Only the unit if `title` is empty.
QString titleIn(const QString& title, const Unit& unit);

/// A bar whose length is `part` divided by `most`; sorted by `part`.
TableCell makeBar(double part, double most);

/// A value in the unit of its column, with the full value on hover. Sorted by its number if it has one.
TableCell makeCell(const exchange::Cell& value, const exchange::Column& column, const Unit& unit);

/// The units of a table's columns. Those that share a unit have one object.
class ColumnUnits {
public:
    /// \param largest  of the column's values
    std::shared_ptr<const Unit> add(const exchange::Column& column, double largest);

private:
    struct Shared {
        std::pair<quantity::Unit, int> group;
        std::vector<double> largest;
        std::shared_ptr<Unit> unit;
    };
    std::vector<Shared> shared_;
};

/// The title of a column, which begins with a capital letter in the window.
QString titleOf(const exchange::Column& column);
/// Where there is little room.
QString shortTitleOf(const exchange::Column& column);

/// A column with that title whose cells are made here: a bar, or a value of one of several runs.
/// \param run  letter of the run, which follows the title; empty: there is one run
TableColumn makeColumnOf(const exchange::Column& column, TableColumn::Kind kind, double width,
                         const QString& run = {});

/// The look of a number that one of two sides may lack: sorted as 0 there.
inline constexpr auto kMissingIsZero = [](TableCell& cell, const auto& /*row*/) {
    cell.sort = std::isnan(cell.sort) ? 0 : cell.sort;
};

/// The columns of a table. What the command line shows as well is defined in core/exchange; here it only gets its
/// look. Bars and other drawings are columns of the window alone.
template <class Row> class TableMaker {
public:
    TableMaker() = default;
    /// \param rows  determine the units; must outlive the maker
    explicit TableMaker(std::span<const Row> rows) : rows_(rows) {}

    /// A column of the window alone.
    /// \param cell  returns a TableCell
    /// \return      the column, to complete it
    template <class Cell>
    requires std::is_invocable_r_v<TableCell, Cell, const Row&> TableColumn& add(TableColumn column,
                                                                                 Cell cell)
    {
        cells_.emplace_back(std::move(cell));
        units_.emplace_back();
        return columns_.emplace_back(std::move(column));
    }
    /// A column as it is defined for all tables with these rows.
    /// \param width   as in makeColumn()
    /// \param finish  changes the look of a cell: void(TableCell&, const Row&), and the column's unit if wanted
    template <class Base, class Finish>
    requires std::is_convertible_v<const Row&, const Base&> TableColumn&
    add(const exchange::ColumnOf<Base>& column, double width, Finish finish)
    {
        units_.push_back(shared_.add(column.about, largestOf(column)));
        cells_.push_back([column, finish, unit = units_.back()](const Row& row) {
            TableCell cell = makeCell(column.value(row), column.about, *unit);
            if constexpr (std::is_invocable_v<Finish, TableCell&, const Row&, const Unit&>)
                finish(cell, row, *unit);
            else
                finish(cell, row);
            return cell;
        });
        using Kind = TableColumn::Kind;
        return columns_.emplace_back(
            makeColumn(titleOf(column.about), column.isNumber ? Kind::Number : Kind::Text, width));
    }
    template <class Base> TableColumn& add(const exchange::ColumnOf<Base>& column, double width)
    {
        return add(column, width, [](TableCell&, const Row&) {});
    }
    /// A bar as long as the number of a column is of the largest one.
    template <class Base> TableColumn& addBar(const exchange::ColumnOf<Base>& column, double width)
    {
        return add(makeColumn({}, TableColumn::Kind::Bar, width),
                   [value = column.value, most = largestOf(column)](const Row& row) {
                       return makeBar(exchange::sizeOf(value(row)).value_or(0), most);
                   });
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
        for (std::size_t i = 0; i < units_.size(); ++i)
            if (units_[i])
                data.columns[i].title = titleIn(columns_[i].title, *units_[i]);
        for (const Row& each : rows) {
            data.rows.push_back(row(each));
            data.rows.back().swatch = std::invoke(swatch, each);
            data.rows.back().id = std::int64_t(data.rows.size()) - 1;
        }
        return data;
    }

private:
    template <class Base> double largestOf(const exchange::ColumnOf<Base>& column) const
    {
        double largest = 0;
        for (const Row& row : rows_)
            largest = std::max(largest, exchange::sizeOf(column.value(row)).value_or(0));
        return largest;
    }

    std::span<const Row> rows_;
    std::vector<TableColumn> columns_;
    std::vector<std::function<TableCell(const Row&)>> cells_;
    std::vector<std::shared_ptr<const Unit>> units_; ///< of a column of the window alone: none
    ColumnUnits shared_;
};

/// A value as it is stored: bytes, ns.
TableCell makePlain(const exchange::Cell& value, const exchange::Column& column);

/// The values behind a plot, for the clipboard and for files: as they are stored, with their unit in the title.
template <class Row>
TableData plainTable(std::initializer_list<const exchange::ColumnOf<Row>*> columns,
                     const std::vector<Row>& rows)
{
    using Kind = TableColumn::Kind;
    TableData data;
    for (const auto* column : columns)
        data.columns.push_back(
            makeColumn(titleIn(titleOf(column->about), quantity::scaleFor(column->about.unit, 0)),
                       column->isNumber ? Kind::Number : Kind::Text, 100));
    for (const Row& row : rows)
        for (TableRow& made = data.rows.emplace_back(); const auto* column : columns)
            made.cells.push_back(makePlain(column->value(row), column->about));
    return data;
}

} // namespace tilescope::ui
