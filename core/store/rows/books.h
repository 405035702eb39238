#pragma once

#include "core/store/rows/row_digest.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string_view>

struct sqlite3_stmt;

namespace tilescope::store {

// The books of a file are its rows in `chunk` and `tally`, which describe all others, and in `file`. Their
// sum is file.books, so that changes of them are detected. Files of version 7 and older have none.

/// The checksum rule of a file; DigestRule::Typed if `file` has no row yet.
DigestRule digestRuleOf(SQLite::Database& database);

/// Adds the value of a column of the query's current row, by its type.
void addColumn(sqlite3_stmt* row, int column, RowDigest& digest);
void addColumn(const SQLite::Column& value, RowDigest& digest);

/// Sum of the rows that a query gives.
std::uint64_t sumOfRows(SQLite::Database& database, std::string_view sql);
std::uint64_t sumOfRows(SQLite::Statement& query);

/// The rows of `file`, except those about the books themselves.
inline constexpr const char* kFileRow = "select id, created, program, sealed, edition, digest from file";
std::uint64_t sumOfFileRow(SQLite::Database& database);

/// The current checksum of the three tables.
std::uint64_t sumOfBooks(SQLite::Database& database);

/// The stored sum; none if it is unknown.
std::optional<std::uint64_t> storedBooks(SQLite::Database& database);

} // namespace tilescope::store
