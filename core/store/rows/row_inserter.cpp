#include "core/store/rows/row_inserter.h"

#include <string>

namespace tilescope::store {

namespace {

std::string insertSql(std::string_view table, std::initializer_list<const char*> columns)
{
    std::string names;
    std::string marks;
    for (const char* column : columns) {
        names.append(names.empty() ? "" : ", ").append(column);
        marks += marks.empty() ? "?" : ", ?";
    }
    return "insert into " + std::string(table) + " (" + names + ") values (" + marks + ")";
}

} // namespace

void bindCell(SQLite::Statement& statement, int position, const Cell& cell, RowDigest& digest)
{
    if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        statement.bind(position, *integer);
        digest.add(*integer);
    } else if (const auto* number = std::get_if<double>(&cell)) {
        statement.bind(position, *number);
        digest.add(*number);
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
        statement.bind(position, std::string(*text));
        digest.add(*text);
    } else if (const auto* blob = std::get_if<Blob>(&cell)) {
        statement.bind(position, blob->bytes.data(), static_cast<int>(blob->bytes.size()));
        digest.addBlob(blob->bytes);
    } else {
        statement.bind(position);
        digest.addNull();
    }
}

RowInserter::RowInserter(SQLite::Database& database, ChunkWriter& chunks, std::string_view table,
                         std::initializer_list<const char*> columns)
    : database_(database), chunks_(chunks), table_(chunks.table(table)), sql_(insertSql(table, columns))
{
}

std::int64_t RowInserter::insert(std::optional<std::int64_t> run, std::initializer_list<Cell> cells)
{
    const std::int64_t id = table_.takeId();
    insertAs(id, run, cells);
    return id;
}

void RowInserter::insertAs(std::int64_t id, std::optional<std::int64_t> run,
                           std::initializer_list<Cell> cells)
{
    if (!statement_)
        statement_.emplace(database_, sql_);
    RowDigest digest;
    digest.add(id);
    statement_->bind(1, id);
    int position = 1;
    for (const Cell& cell : cells)
        bindCell(*statement_, ++position, cell, digest);
    statement_->exec();
    statement_->reset();
    chunks_.add(table_, run, id, digest);
}

} // namespace tilescope::store
