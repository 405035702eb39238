#pragma once

// Values of a query's row, where SQL's null means "not measured".

#include "core/base/units.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::store {

// A query with many rows looks up the number of a column once.

inline std::optional<std::int64_t> integer(SQLite::Statement& row, int column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getInt64());
}

inline std::optional<std::int64_t> integer(SQLite::Statement& row, const char* column)
{
    return integer(row, row.getColumnIndex(column));
}

template <class Column> std::optional<Bytes> bytes(SQLite::Statement& row, Column column)
{
    const auto value = integer(row, column);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
}

template <class Column> std::optional<double> real(SQLite::Statement& row, Column column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getDouble());
}

template <class Column> std::string text(SQLite::Statement& row, Column column)
{
    return row.getColumn(column).getString();
}

} // namespace tilescope::store
