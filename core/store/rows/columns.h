#pragma once

// Values of a query's row, where SQL's null means "not measured".

#include "core/base/units.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::store {

inline std::optional<std::int64_t> integer(SQLite::Statement& row, const char* column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getInt64());
}

inline std::optional<Bytes> bytes(SQLite::Statement& row, const char* column)
{
    const auto value = integer(row, column);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
}

inline std::optional<double> real(SQLite::Statement& row, const char* column)
{
    const SQLite::Column value = row.getColumn(column);
    return value.isNull() ? std::nullopt : std::optional(value.getDouble());
}

inline std::string text(SQLite::Statement& row, const char* column)
{
    return row.getColumn(column).getString();
}

} // namespace tilescope::store
