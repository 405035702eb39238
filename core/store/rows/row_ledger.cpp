#include "core/store/rows/row_ledger.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace tilescope::store {

std::string_view nameOf(Source source)
{
    static constexpr std::string_view kNames[] = {"string",
                                                  "run",
                                                  "environment",
                                                  "sample",
                                                  "loss",
                                                  "thread",
                                                  "launch",
                                                  "kernel_name",
                                                  "range",
                                                  "op",
                                                  "api_call",
                                                  "kernel",
                                                  "copy",
                                                  "allocation",
                                                  "frame",
                                                  "track",
                                                  "track_data",
                                                  "ceiling",
                                                  "counter",
                                                  "memory_block",
                                                  "memory_segment",
                                                  "memory_reading",
                                                  "saved_tensor",
                                                  "kernel_total",
                                                  "range_total",
                                                  "step_total",
                                                  "code_place",
                                                  "clock",
                                                  "process",
                                                  "device",
                                                  "stream",
                                                  "collective",
                                                  "wait",
                                                  "counter_track",
                                                  "op_total",
                                                  "activity_total",
                                                  "allocation_total"};
    static_assert(std::size(kNames) == kSources);
    return kNames[static_cast<std::size_t>(source)];
}

RowLedger::RowLedger(SQLite::Database& database)
    : database_(database), rule_(digestRuleOf(database)),
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
                tallies_[i] = {query.getColumn(1).getInt64(), query.getColumn(2).getInt64(), false, true};
    }
    // Keeps an existing error of the books: a change elsewhere must not hide it.
    if (const auto books = storedBooks(database))
        chunkSum_ = *books - sumOfTallies() - sumOfFileRow(database);
    else if (rule_ == DigestRule::Typed)
        chunkSum_ = sumOfRows(database, "select * from chunk");
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
    RowDigest digest(DigestRule::Typed);
    digest.add(std::int64_t{database_.getLastInsertRowid()});
    digest.addOrNull(chunk.run.value_or(kNull));
    digest.add(nameOf(chunk.source));
    for (const std::int64_t value : {chunk.first, chunk.last, chunk.rows})
        digest.add(value);
    digest.addOrNull(chunk.start);
    digest.addOrNull(chunk.end);
    digest.add(static_cast<std::int64_t>(chunk.checksum));
    chunkSum_ += digest.value();
    Tally& tally = tallies_[index(chunk.source)];
    tally.rows += chunk.rows;
    tally.changed = true;
}

void RowLedger::replaceRunRow(std::int64_t run, const RowDigest& digest)
{
    const auto sumOfChunk = [&] {
        const StatementCache::Loan chunk = query("select * from chunk where run = ? and source = 'run'");
        chunk->bind(1, run);
        return sumOfRows(*chunk);
    };
    chunkSum_ -= sumOfChunk();
    const StatementCache::Loan update =
        query("update chunk set checksum = ? where run = ? and source = 'run'");
    update->bind(1, static_cast<std::int64_t>(digest.value()));
    update->bind(2, run);
    update->exec();
    chunkSum_ += sumOfChunk();
    balance();
}

std::uint64_t RowLedger::sumOfTallies() const
{
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kSources; ++i)
        if (const Tally& tally = tallies_[i]; tally.stored) {
            RowDigest digest(DigestRule::Typed);
            digest.add(nameOf(static_cast<Source>(i)));
            digest.add(tally.rows);
            digest.add(tally.next);
            sum += digest.value();
        }
    return sum;
}

/// Stores the sum of the books.
void RowLedger::balance()
{
    if (rule_ == DigestRule::Untyped)
        return;
    const std::uint64_t books = chunkSum_ + sumOfTallies() + sumOfRows(*query(kFileRow));
    const StatementCache::Loan update = query("update file set books = ? where id = 1");
    update->bind(1, static_cast<std::int64_t>(books));
    update->exec();
}

void RowLedger::removeRun(std::int64_t run)
{
    const StatementCache::Loan rows =
        query("select source, sum(rows) from chunk where run = ? group by source");
    rows->bind(1, run);
    while (rows->executeStep())
        for (std::size_t i = 0; i < kSources; ++i)
            if (nameOf(static_cast<Source>(i)) == rows->getColumn(0).getString()) {
                tallies_[i].rows -= rows->getColumn(1).getInt64();
                tallies_[i].changed = true;
            }
    const StatementCache::Loan chunks = query("select * from chunk where run = ?");
    chunks->bind(1, run);
    chunkSum_ -= sumOfRows(*chunks);
    const StatementCache::Loan remove = query("delete from chunk where run = ?");
    remove->bind(1, run);
    remove->exec();
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
            tally.stored = true;
        }
    balance();
}

namespace {

/// The columns of the first version of a table.
int firstColumns(Source source)
{
    constexpr int kAll = 1000;
    switch (source) {
    case Source::Run:
        return 32;
    case Source::MemorySegment:
        return 9;
    case Source::Thread:
        return 4;
    case Source::StepTotal:
        return 10;
    default:
        return kAll;
    }
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

RowDigest digestOf(sqlite3_stmt* row, Source source, DigestRule rule)
{
    RowDigest digest(rule);
    const int columns = sqlite3_column_count(row);
    for (int i = 0; i < columns; ++i)
        if (beginColumn(i, sqlite3_column_type(row, i) == SQLITE_NULL, source, digest))
            addColumn(row, i, digest);
    return digest;
}

RowDigest digestOf(SQLite::Statement& row, int columns, Source source, DigestRule rule)
{
    RowDigest digest(rule);
    for (int i = 0; i < columns; ++i) {
        const SQLite::Column value = row.getColumn(i);
        if (!beginColumn(i, value.isNull(), source, digest))
            continue;
        addColumn(value, digest);
    }
    return digest;
}

} // namespace tilescope::store
