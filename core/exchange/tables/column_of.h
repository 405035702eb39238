#pragma once

#include "core/exchange/tables/columns.h"
#include "core/exchange/tables/table.h"

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace tilescope::exchange {

/// How a column is shown. Nanoseconds and bytes have their unit by type.
struct Shown {
    Unit unit = Unit::None;
    int keep = 1;
    Audience audience = Audience::Everyone;
    Meaning meaning = Meaning::Plain;
    bool elidable = false;
    bool hasPairs = false;
    int unitGroup = 0;
    std::string shortTitle = {};
};

/// Whether the values of a type are numbers.
template <class T> constexpr bool isNumeric()
{
    if constexpr (isOptional<T>)
        return isNumeric<typename T::value_type>();
    else
        return std::is_arithmetic_v<T> || std::is_same_v<T, analysis::Statistics> ||
               unitOf<T>() != Unit::None;
}

/// A column of every table whose rows have the type Row: what it is called, what it measures, and its value in a
/// row. A terminal, JSON, CSV and the window show the same definition; the window adds only its look.
template <class Row> struct ColumnOf {
    /// \param key    name in JSON and CSV
    /// \param title  heading in lower case; empty: the unit alone
    /// \param get    a member of the row, or a function of the row
    template <class Get, class Value = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>>
    ColumnOf(std::string key, std::string title, Get get, const Shown& shown = {})
        : about{.key = std::move(key),
                .title = std::move(title),
                .shortTitle = shown.shortTitle,
                .unit = shown.unit == Unit::None ? unitOf<Value>() : shown.unit,
                .audience = shown.audience,
                .meaning = shown.meaning,
                .statistic = std::is_same_v<Value, std::optional<analysis::Statistics>>,
                .elidable = shown.elidable,
                .hasPairs = shown.hasPairs,
                .keep = shown.keep,
                .unitGroup = shown.unitGroup},
          value([get](const Row& row) { return toCell(std::invoke(get, row)); }),
          isNumber(isNumeric<Value>() || about.unit != Unit::None)
    {
    }

    Column about; ///< without its cells
    std::function<Cell(const Row&)> value;
    bool isNumber;
};

/// The column of a part of a row.
/// \param part  returns a pointer to it; null: the row has none, and no value
template <class Row, class Part, class Get> ColumnOf<Row> columnOfPart(const ColumnOf<Part>& column, Get part)
{
    ColumnOf<Row> made("", "", [value = column.value, part](const Row& row) {
        const Part* const known = std::invoke(part, row);
        return known ? value(*known) : Cell();
    });
    made.about = column.about;
    made.isNumber = column.isNumber;
    return made;
}

/// A getter: the member of a member of a row.
template <class Outer, class Inner> auto memberOf(Outer outer, Inner inner)
{
    return [outer, inner](const auto& row) { return std::invoke(inner, std::invoke(outer, row)); };
}

} // namespace tilescope::exchange
