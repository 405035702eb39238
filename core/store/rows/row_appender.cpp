#include "core/store/rows/row_appender.h"

#include "core/store/file/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace tilescope::store {

namespace {

std::string insertEventSql(const EventTable& table, std::size_t rows, std::size_t firstColumn)
{
    std::string sql = "insert into ";
    sql.append(table.name).append(" (");
    std::string marks;
    for (const std::string_view column : table.columns.subspan(firstColumn)) {
        sql.append(marks.empty() ? "" : ", ").append(column);
        marks += marks.empty() ? "?" : ", ?";
    }
    sql += ") values (" + marks + ")";
    for (std::size_t i = 1; i < rows; ++i)
        sql += ", (" + marks + ")";
    return sql;
}

} // namespace

RowAppender::RowAppender(SQLite::Database& database, ChunkWriter& chunks, EventKind kind)
    : database_(database), chunks_(chunks), kind_(kind), table_(eventTable(kind)),
      chunkTable_(chunks.table(table_.name)), width_(table_.columns.size()), insertOne_(prepared(1, true)),
      insertMany_(nullptr, &sqlite3_finalize), appendMany_(nullptr, &sqlite3_finalize),
      rows_(kChunkRows * width_)
{
}

RowAppender::~RowAppender() = default;

RowAppender::Statement RowAppender::prepared(std::size_t rows, bool withIds) const
{
    const std::string sql = insertEventSql(table_, rows, withIds ? 0 : 1);
    sqlite3_stmt* statement = nullptr;
    check(database_.getHandle(),
          sqlite3_prepare_v3(database_.getHandle(), sql.c_str(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return {statement, &sqlite3_finalize};
}

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
    for (std::size_t i = 0; i < count_; ++i) {
        std::int64_t& id = row(i)[0];
        if (!hasOwnIds())
            id = chunkTable_.takeId();
        else if (id == kNull)
            throw Error{.what = "a record without a number for the table " + std::string(table_.name),
                        .kind = ErrorKind::Failure};
        else
            chunkTable_.reserve(id);
    }
}

/// \param firstColumn  1: without ids
/// \return  the code of SQLite
int RowAppender::insert(sqlite3_stmt* statement, std::size_t begin, std::size_t rows, std::size_t firstColumn)
{
    int position = 0;
    for (std::size_t i = begin; i < begin + rows; ++i)
        for (std::size_t column = firstColumn; column < width_; ++column)
            if (const std::int64_t value = row(i)[column]; value == kNull)
                sqlite3_bind_null(statement, ++position);
            else
                sqlite3_bind_int64(statement, ++position, value);
    sqlite3_step(statement);
    lastId_ = row(begin + rows - 1)[0];
    return sqlite3_reset(statement);
}

/// Whether SQLite would give these rows the ids that they have.
bool RowAppender::continuesTable(std::size_t begin, std::size_t rows)
{
    return !hasOwnIds() && lastId_ != kNull && row(begin)[0] == lastId_ + 1 &&
           row(begin + rows - 1)[0] == lastId_ + static_cast<std::int64_t>(rows);
}

/// SQLite would number the rows differently if the table had later rows than those of this writer.
void RowAppender::requireLastId() const
{
    const std::int64_t id = sqlite3_last_insert_rowid(database_.getHandle());
    if (id != lastId_)
        throw Error{.what = "the row " + std::to_string(lastId_) + " of the table " +
                            std::string(table_.name) + " was inserted as " + std::to_string(id),
                    .kind = ErrorKind::Failure};
}

void RowAppender::insertRows()
{
    std::size_t at = 0;
    if (count_ >= kRowsPerStatement && !insertMany_) {
        insertMany_ = prepared(kRowsPerStatement, true);
        appendMany_ = prepared(kRowsPerStatement, false);
    }
    for (; count_ - at >= kRowsPerStatement; at += kRowsPerStatement) {
        if (continuesTable(at, kRowsPerStatement)) {
            check(database_.getHandle(), insert(appendMany_.get(), at, kRowsPerStatement, 1));
            requireLastId();
            continue;
        }
        const int code = insert(insertMany_.get(), at, kRowsPerStatement, 0);
        // Nothing of these rows is in the table; one by one, the row that SQLite refuses is known.
        if (code == SQLITE_CONSTRAINT)
            break;
        check(database_.getHandle(), code);
    }
    for (; at < count_; ++at) {
        const int code = insert(insertOne_.get(), at, 1, 0);
        if (code == SQLITE_CONSTRAINT)
            throw Error{.what = "two records of the table " + std::string(table_.name) + " have the number " +
                                std::to_string(row(at)[0]),
                        .kind = ErrorKind::Failure};
        check(database_.getHandle(), code);
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
                .table = std::string(table_.name),
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
        RowDigest digest;
        for (std::size_t column = 0; column < width_; ++column)
            digest.addOrNull(values[column]);
        chunk.sum += digest.value();
    }
    chunks_.add(chunk);
}

} // namespace tilescope::store
