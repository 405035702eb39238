#include "core/store/rows/books.h"

#include "core/store/file/database.h"

#include <sqlite3.h>

#include <memory>
#include <string>

namespace tilescope::store {

DigestRule digestRuleOf(SQLite::Database& database)
{
    SQLite::Statement row(database, "select digest from file where id = 1");
    const bool untyped = row.executeStep() && row.getColumn(0).isNull();
    return untyped ? DigestRule::Untyped : DigestRule::Typed;
}

void addColumn(sqlite3_stmt* row, int column, RowDigest& digest)
{
    sqlite3_value* value = sqlite3_column_value(row, column);
    const int type = sqlite3_value_type(value);
    switch (type) {
    case SQLITE_INTEGER:
        digest.add(std::int64_t{sqlite3_value_int64(value)});
        break;
    case SQLITE_FLOAT:
        digest.add(sqlite3_value_double(value));
        break;
    case SQLITE_NULL:
        digest.addNull();
        break;
    default: {
        const auto* data = static_cast<const char*>(sqlite3_value_blob(value));
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
        const std::string_view bytes = data ? std::string_view(data, size) : std::string_view();
        type == SQLITE_TEXT ? digest.add(bytes) : digest.addBlob(bytes);
    }
    }
}

void addColumn(const SQLite::Column& value, RowDigest& digest)
{
    const auto bytes = [&value] {
        const auto* data = static_cast<const char*>(value.getBlob());
        return data ? std::string_view(data, static_cast<std::size_t>(value.getBytes())) : std::string_view();
    };
    switch (value.getType()) {
    case SQLITE_INTEGER:
        return digest.add(std::int64_t{value.getInt64()});
    case SQLITE_FLOAT:
        return digest.add(value.getDouble());
    case SQLITE_NULL:
        return digest.addNull();
    case SQLITE_TEXT:
        return digest.add(bytes());
    default:
        return digest.addBlob(bytes());
    }
}

std::uint64_t sumOfRows(SQLite::Statement& query)
{
    const int columns = query.getColumnCount();
    std::uint64_t sum = 0;
    while (query.executeStep()) {
        RowDigest digest(DigestRule::Typed);
        for (int column = 0; column < columns; ++column)
            addColumn(query.getColumn(column), digest);
        sum += digest.value();
    }
    return sum;
}

std::uint64_t sumOfRows(SQLite::Database& database, std::string_view sql)
{
    sqlite3_stmt* row = nullptr;
    check(database.getHandle(),
          sqlite3_prepare_v2(database.getHandle(), sql.data(), static_cast<int>(sql.size()), &row, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(row, &sqlite3_finalize);
    std::uint64_t sum = 0;
    int code = 0;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        RowDigest digest(DigestRule::Typed);
        for (int column = 0; column < sqlite3_column_count(row); ++column)
            addColumn(row, column, digest);
        sum += digest.value();
    }
    check(database.getHandle(), code);
    return sum;
}

std::uint64_t sumOfFileRow(SQLite::Database& database)
{
    return sumOfRows(database, kFileRow);
}

std::uint64_t sumOfBooks(SQLite::Database& database)
{
    return sumOfFileRow(database) + sumOfRows(database, "select * from chunk") +
           sumOfRows(database, "select * from tally");
}

std::optional<std::uint64_t> storedBooks(SQLite::Database& database)
{
    SQLite::Statement row(database, "select books from file where id = 1");
    // No writer produces a text or a non-integer number here.
    if (!row.executeStep() || !row.getColumn(0).isInteger())
        return {};
    return static_cast<std::uint64_t>(row.getColumn(0).getInt64());
}

} // namespace tilescope::store
