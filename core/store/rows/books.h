#pragma once

#include "core/store/rows/row_digest.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string_view>

struct sqlite3_stmt;

namespace tilescope::store {

// The books of a file: its rows in `chunk` and `tally`, which tell of all others, and in `file`. Their sum
// stands in file.books, so that a change of any of them is noticed. Files of version 7 and before have none.

/// How the rows of a file are added up; DigestRule::Typed where it has no row in `file` yet.
DigestRule digestRuleOf(SQLite::Database& database);

/// Adds the value of a column that a query stands on, by its type.
void addColumn(sqlite3_stmt* row, int column, RowDigest& digest);
void addColumn(const SQLite::Column& value, RowDigest& digest);

/// Sum of the rows that a query gives.
std::uint64_t sumOfRows(SQLite::Database& database, std::string_view sql);
std::uint64_t sumOfRows(SQLite::Statement& query);

/// The rows of `file`, without what the books say of themselves.
inline constexpr const char* kFileRow = "select id, created, program, sealed, edition, digest from file";
std::uint64_t sumOfFileRow(SQLite::Database& database);

/// What the three tables add up to now.
std::uint64_t sumOfBooks(SQLite::Database& database);

/// What they added up to when they were written; none where that is not known.
std::optional<std::uint64_t> storedBooks(SQLite::Database& database);

} // namespace tilescope::store
