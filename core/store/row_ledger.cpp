#include "core/store/row_ledger.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace tilescope::store {

std::string_view nameOf(Source source)
{
    static constexpr std::array<std::string_view, kSources> names{"string",         "run",
                                                                  "environment",    "sample",
                                                                  "loss",           "thread",
                                                                  "launch",         "kernel_name",
                                                                  "range",          "op",
                                                                  "api_call",       "kernel",
                                                                  "copy",           "allocation",
                                                                  "track",          "level",
                                                                  "track_data",     "ceiling",
                                                                  "counter",        "memory_block",
                                                                  "memory_segment", "memory_reading",
                                                                  "saved_tensor",   "kernel_total",
                                                                  "range_total",    "step_total",
                                                                  "code_place"};
    return names[static_cast<std::size_t>(source)];
}

RowLedger::RowLedger(SQLite::Database& database)
    : database_(database),
      insertChunk_(database, "insert into chunk (run, source, first, last, rows, start, end, checksum) "
                             "values (?, ?, ?, ?, ?, ?, ?, ?)"),
      updateTally_(database, "insert into tally (source, rows, next) values (?1, ?2, ?3) "
                             "on conflict (source) do update set rows = ?2, next = ?3")
{
    SQLite::Statement query(database, "select source, rows, next from tally");
    while (query.executeStep()) {
        const std::string name = query.getColumn(0).getString();
        for (std::size_t i = 0; i < kSources; ++i)
            if (nameOf(static_cast<Source>(i)) == name)
                tallies_[i] = {query.getColumn(1).getInt64(), query.getColumn(2).getInt64(), false};
    }
}

void RowLedger::reserve(Source source, std::int64_t id)
{
    Tally& tally = tallies_[index(source)];
    if (id >= tally.next) {
        tally.next = id + 1;
        tally.changed = true;
    }
}

void RowLedger::add(Source source, std::optional<std::int64_t> run, std::int64_t id, const RowDigest& digest)
{
    Chunk& chunk = open_[index(source)];
    if (chunk.rows > 0 && chunk.run != run) {
        insert(chunk);
        chunk = {};
    }
    if (chunk.rows == 0)
        chunk = {.run = run, .source = source, .first = id};
    chunk.last = id;
    ++chunk.rows;
    chunk.checksum += digest.value();
}

void RowLedger::add(const Chunk& chunk)
{
    insert(chunk);
}

void RowLedger::insert(const Chunk& chunk)
{
    const auto bindOrNull = [this](int position, std::int64_t value) {
        if (value == kNull)
            insertChunk_.bind(position);
        else
            insertChunk_.bind(position, value);
    };
    bindOrNull(1, chunk.run.value_or(kNull));
    insertChunk_.bind(2, nameOf(chunk.source).data());
    insertChunk_.bind(3, chunk.first);
    insertChunk_.bind(4, chunk.last);
    insertChunk_.bind(5, chunk.rows);
    bindOrNull(6, chunk.start);
    bindOrNull(7, chunk.end);
    insertChunk_.bind(8, static_cast<std::int64_t>(chunk.checksum));
    insertChunk_.exec();
    insertChunk_.reset();
    Tally& tally = tallies_[index(chunk.source)];
    tally.rows += chunk.rows;
    tally.changed = true;
}

void RowLedger::replaceRunRow(std::int64_t run, const RowDigest& digest)
{
    SQLite::Statement update(database_, "update chunk set checksum = ? where run = ? and source = 'run'");
    update.bind(1, static_cast<std::int64_t>(digest.value()));
    update.bind(2, run);
    update.exec();
}

void RowLedger::removeRun(std::int64_t run)
{
    for (std::size_t i = 0; i < kSources; ++i) {
        SQLite::Statement rows(database_,
                               "select coalesce(sum(rows), 0) from chunk where run = ? and source = ?");
        rows.bind(1, run);
        rows.bind(2, nameOf(static_cast<Source>(i)).data());
        rows.executeStep();
        tallies_[i].rows -= rows.getColumn(0).getInt64();
        tallies_[i].changed = true;
    }
    SQLite::Statement remove(database_, "delete from chunk where run = ?");
    remove.bind(1, run);
    remove.exec();
}

void RowLedger::flush()
{
    for (Chunk& chunk : open_)
        if (chunk.rows > 0) {
            insert(chunk);
            chunk = {};
        }
    for (std::size_t i = 0; i < kSources; ++i)
        if (Tally& tally = tallies_[i]; tally.changed) {
            updateTally_.bind(1, nameOf(static_cast<Source>(i)).data());
            updateTally_.bind(2, tally.rows);
            updateTally_.bind(3, tally.next);
            updateTally_.exec();
            updateTally_.reset();
            tally.changed = false;
        }
}

namespace {

/// Columns that a table had in the first version of it.
int firstColumns(Source source)
{
    constexpr int kAll = 1000;
    return source == Source::Run ? 32 : source == Source::MemorySegment ? 9 : kAll;
}

} // namespace

bool beginColumn(int column, bool isNull, Source source, RowDigest& digest)
{
    if (column < firstColumns(source))
        return true;
    if (isNull)
        return false;
    digest.add(std::int64_t{column});
    return true;
}

RowDigest digestOf(sqlite3_stmt* row, Source source)
{
    RowDigest digest;
    const int columns = sqlite3_column_count(row);
    for (int i = 0; i < columns; ++i) {
        sqlite3_value* value = sqlite3_column_value(row, i);
        const int type = sqlite3_value_type(value);
        if (!beginColumn(i, type == SQLITE_NULL, source, digest))
            continue;
        switch (type) {
        case SQLITE_INTEGER:
            digest.add(static_cast<std::int64_t>(sqlite3_value_int64(value)));
            break;
        case SQLITE_FLOAT:
            digest.add(sqlite3_value_double(value));
            break;
        case SQLITE_NULL:
            digest.addNull();
            break;
        default: {
            const auto* text = static_cast<const char*>(sqlite3_value_blob(value));
            const int size = sqlite3_value_bytes(value);
            digest.add(text ? std::string_view(text, static_cast<std::size_t>(size)) : std::string_view());
        }
        }
    }
    return digest;
}

RowDigest digestOf(SQLite::Statement& row, int columns, Source source)
{
    RowDigest digest;
    for (int i = 0; i < columns; ++i) {
        const SQLite::Column value = row.getColumn(i);
        if (!beginColumn(i, value.isNull(), source, digest))
            continue;
        if (value.isInteger())
            digest.add(value.getInt64());
        else if (value.isFloat())
            digest.add(value.getDouble());
        else if (value.isNull())
            digest.addNull();
        else
            digest.add(std::string_view(static_cast<const char*>(value.getBlob()),
                                        static_cast<std::size_t>(value.getBytes())));
    }
    return digest;
}

} // namespace tilescope::store
