#pragma once

#include "core/store/rows/chunks.h"
#include "core/store/rows/event_rows.h"

#include <cstdint>
#include <memory>
#include <vector>

struct sqlite3_stmt;

namespace tilescope::store {

/// Collects rows of one event table and inserts them by the chunk: the path that every event takes.
///
/// Rows wait here until a chunk is full or flush() is called. Belongs to the one write connection.
class RowAppender {
public:
    RowAppender(SQLite::Database& database, ChunkWriter& chunks, EventKind kind);
    ~RowAppender();
    RowAppender(const RowAppender&) = delete;
    RowAppender& operator=(const RowAppender&) = delete;

    /// Space for one more row, for toRow() to fill at once. Inserts the rows before it when they make a
    /// chunk.
    std::int64_t* append();
    void flush();

private:
    /// Rows that one statement inserts: it finds its place in the table once, and SQLite starts once.
    static constexpr std::size_t kRowsPerStatement = 32;

    using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

    Statement prepared(std::size_t rows, bool withIds) const;
    int insert(sqlite3_stmt* statement, std::size_t begin, std::size_t rows, std::size_t firstColumn);
    bool continuesTable(std::size_t begin, std::size_t rows);
    void requireLastId() const;
    bool hasOwnIds() const;
    std::int64_t* row(std::size_t index) { return rows_.data() + index * width_; }
    void assignIds();
    void insertRows();
    void accountFor(std::size_t begin, std::size_t end);
    std::size_t chunkEnd(std::size_t begin);

    SQLite::Database& database_;
    ChunkWriter& chunks_;
    const EventKind kind_;
    const EventTable& table_;
    ChunkWriter::Table& chunkTable_;
    const std::size_t width_;
    Statement insertOne_;
    Statement insertMany_; ///< by the first rows that suffice for it
    Statement
        appendMany_; ///< the same without ids: SQLite assigns the next ones without a search for their place
    std::int64_t lastId_ = kNull; ///< of the last row
    std::vector<std::int64_t> rows_;
    std::size_t count_ = 0;
};

} // namespace tilescope::store
