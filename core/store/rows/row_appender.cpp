#include "core/store/rows/row_appender.h"

#include "core/store/file/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace tilescope::store {

namespace {

std::string insertEventSql(const EventTable& table)
{
    std::string sql = "insert into ";
    sql.append(table.name).append(" (");
    std::string marks;
    for (const std::string_view column : table.columns) {
        sql.append(marks.empty() ? "" : ", ").append(column);
        marks += marks.empty() ? "?" : ", ?";
    }
    return sql + ") values (" + marks + ")";
}

} // namespace

RowAppender::RowAppender(SQLite::Database& database, RowLedger& ledger, EventKind kind)
    : database_(database), ledger_(ledger), kind_(kind), table_(eventTable(kind)),
      width_(table_.columns.size()), insert_(nullptr, &sqlite3_finalize), rows_(kChunkRows * width_)
{
    const std::string sql = insertEventSql(table_);
    sqlite3_stmt* statement = nullptr;
    check(database.getHandle(),
          sqlite3_prepare_v3(database.getHandle(), sql.c_str(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    insert_.reset(statement);
}

RowAppender::~RowAppender() = default;

std::int64_t* RowAppender::append()
{
    if (count_ == kChunkRows)
        flush();
    return row(count_++);
}

bool RowAppender::hasOwnIds() const
{
    return kind_ == EventKind::Range || kind_ == EventKind::Op;
}

void RowAppender::flush()
{
    if (count_ == 0)
        return;
    assignIds();
    insertRows();
    for (std::size_t begin = 0; begin < count_;) {
        const std::size_t end = chunkEnd(begin);
        accountFor(begin, end);
        begin = end;
    }
    count_ = 0;
}

void RowAppender::assignIds()
{
    const Source source = sourceOf(kind_);
    for (std::size_t i = 0; i < count_; ++i) {
        std::int64_t& id = row(i)[0];
        if (!hasOwnIds())
            id = ledger_.takeId(source);
        else if (id == kNull)
            throw Error{.what = "a record without a number for the table " + std::string(table_.name),
                        .kind = ErrorKind::Failure};
        else
            ledger_.reserve(source, id);
    }
}

void RowAppender::insertRows()
{
    sqlite3_stmt* statement = insert_.get();
    for (std::size_t i = 0; i < count_; ++i) {
        const std::int64_t* values = row(i);
        for (std::size_t column = 0; column < width_; ++column) {
            const int position = static_cast<int>(column) + 1;
            if (values[column] == kNull)
                sqlite3_bind_null(statement, position);
            else
                sqlite3_bind_int64(statement, position, values[column]);
        }
        sqlite3_step(statement);
        if (const int code = sqlite3_reset(statement); code != SQLITE_OK) {
            if (code == SQLITE_CONSTRAINT)
                throw Error{.what = "two records of the table " + std::string(table_.name) +
                                    " have the number " + std::to_string(values[0]),
                            .kind = ErrorKind::Failure};
            check(database_.getHandle(), code);
        }
    }
}

/// A chunk is read from its lowest to its highest id. A range or op that was open for long arrives later than
/// its number suggests. It gets its own chunk, because otherwise the chunk would span thousands of rows of
/// others.
std::size_t RowAppender::chunkEnd(std::size_t begin)
{
    if (!hasOwnIds())
        return count_;
    const std::int64_t farthest = row(begin)[0] + 2 * static_cast<std::int64_t>(kChunkRows);
    std::size_t end = begin + 1;
    while (end < count_ && row(end)[0] > row(end - 1)[0] && row(end)[0] < farthest)
        ++end;
    return end;
}

void RowAppender::accountFor(std::size_t begin, std::size_t end)
{
    Chunk chunk{.run = row(begin)[1],
                .source = sourceOf(kind_),
                .first = row(begin)[0],
                .last = row(end - 1)[0],
                .rows = static_cast<std::int64_t>(end - begin)};
    chunk.start = row(begin)[table_.start];
    chunk.end = chunk.start;
    for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t* values = row(i);
        const std::int64_t start = values[table_.start];
        chunk.start = std::min(chunk.start, start);
        chunk.end = std::max(chunk.end, table_.duration < 0 ? start : start + values[table_.duration]);
        RowDigest digest(ledger_.rule());
        for (std::size_t column = 0; column < width_; ++column)
            digest.addOrNull(values[column]);
        chunk.checksum += digest.value();
    }
    ledger_.add(chunk);
}

} // namespace tilescope::store
