#include "core/store/rows/row_inserter.h"

#include <string>

namespace tilescope::store {

namespace {

std::string insertSql(Source source, std::initializer_list<const char*> columns)
{
    std::string names;
    std::string marks;
    for (const char* column : columns) {
        names.append(names.empty() ? "" : ", ").append(column);
        marks += marks.empty() ? "?" : ", ?";
    }
    return "insert into " + std::string(nameOf(source)) + " (" + names + ") values (" + marks + ")";
}

} // namespace

void bindCell(SQLite::Statement& statement, int position, const Cell& cell, Source source, RowDigest& digest)
{
    if (!beginColumn(position - 1, std::holds_alternative<std::monostate>(cell), source, digest))
        return statement.bind(position);
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

RowInserter::RowInserter(SQLite::Database& database, RowLedger& ledger, Source source,
                         std::initializer_list<const char*> columns)
    : database_(database), ledger_(ledger), source_(source), sql_(insertSql(source, columns))
{
}

std::int64_t RowInserter::insert(std::optional<std::int64_t> run, std::initializer_list<Cell> cells)
{
    const std::int64_t id = ledger_.takeId(source_);
    insertAs(id, run, cells);
    return id;
}

void RowInserter::insertAs(std::int64_t id, std::optional<std::int64_t> run,
                           std::initializer_list<Cell> cells)
{
    if (!statement_)
        statement_.emplace(database_, sql_);
    RowDigest digest(ledger_.rule());
    digest.add(id);
    statement_->bind(1, id);
    int position = 1;
    for (const Cell& cell : cells)
        bindCell(*statement_, ++position, cell, source_, digest);
    statement_->exec();
    statement_->reset();
    ledger_.add(source_, run, id, digest);
}

} // namespace tilescope::store
