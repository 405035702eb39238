#pragma once

#include "core/store/rows/event_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct sqlite3_stmt;

namespace tilescope::store {

/// Reads a run's rows of an event table sorted by their start. The table is nearly in that order.
///
/// Columns that neither tracks nor totals need are null: ids of rows, runs, ranges and launches, and some more.
///
/// Buffers and sorts about ten thousand rows: a row that is displaced by more is returned late.
class SortedRows {
public:
    /// \pre the file's appenders are flushed
    SortedRows(SQLite::Database& database, EventKind kind, std::int64_t run);

    /// The next row, valid until the following call; nullptr at the end.
    const EventRow* next();

private:
    static constexpr std::size_t kHeld = 32'768;

    void refill();

    SQLite::Database& database_;
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> query_;
    const EventKind kind_;
    std::vector<std::size_t> places_; ///< indices of the columns that are read
    std::vector<EventRow> rows_;
    std::size_t at_ = 0;
    bool done_ = false;
};

} // namespace tilescope::store
