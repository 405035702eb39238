#pragma once

#include "core/store/rows/chunks.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tilescope::store {

/// Bytes that are not text.
struct Blob {
    std::string_view bytes;
};

/// A cell: null, integer, number, text or bytes.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view, Blob>;

template <class T> Cell cellOf(const std::optional<T>& value)
{
    return value ? Cell(*value) : Cell();
}

/// The cell of an id, null for none; and the id of such a cell's value.
template <class IdType> Cell cellOfId(IdType id)
{
    return id ? Cell(static_cast<std::int64_t>(id.value)) : Cell();
}
template <class IdType> IdType idOf(std::int64_t value)
{
    return value == kNull ? IdType::none() : IdType{static_cast<decltype(IdType::value)>(value)};
}

/// Binds a cell of a row, the position's column from 1, and adds it to the row's digest.
void bindCell(SQLite::Statement& statement, int position, const Cell& cell, RowDigest& digest);

/// Inserts rows into tables other than event tables and accounts for them.
class RowInserter {
public:
    /// \param columns  all of the table's, in its order
    RowInserter(SQLite::Database& database, ChunkWriter& chunks, std::string_view table,
                std::initializer_list<const char*> columns);

    /// \param run    the run to whose chunk the row belongs; none for tables that all runs share
    /// \param cells  values of the columns after `id`, in the table's order
    /// \return       the row's id
    std::int64_t insert(std::optional<std::int64_t> run, std::initializer_list<Cell> cells);
    /// Inserts a row with an id that the caller chose.
    void insertAs(std::int64_t id, std::optional<std::int64_t> run, std::initializer_list<Cell> cells);

private:
    SQLite::Database& database_;
    ChunkWriter& chunks_;
    ChunkWriter::Table& table_;
    const std::string sql_;
    std::optional<SQLite::Statement> statement_; ///< compiled for the first row
};

} // namespace tilescope::store
