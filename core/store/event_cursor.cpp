#include "core/store/event_cursor.h"

#include <sqlite3.h>

#include <string>

namespace tilescope::store {

EventCursor::EventCursor(ReadConnection& connection, EventKind kind, std::vector<IdInterval> intervals,
                         const RowWindow& window)
    : connection_(connection), table_(eventTable(kind)), intervals_(std::move(intervals)), window_(window),
      query_(connection.eventQuery(kind))
{
}

/// To the next row of the table, across intervals.
bool EventCursor::step()
{
    sqlite3_stmt* query = query_.get();
    while (interval_ < intervals_.size()) {
        const IdInterval& interval = intervals_[interval_];
        if (!running_) {
            sqlite3_bind_int64(query, 1, interval.first);
            sqlite3_bind_int64(query, 2, interval.last);
            running_ = true;
            seen_ = 0;
        }
        const int code = sqlite3_step(query);
        if (code == SQLITE_ROW) {
            ++seen_;
            return true;
        }
        check(connection_.database().getHandle(), sqlite3_reset(query));
        // Rows of other chunks may lie between; fewer than the chunks' own means that some are gone.
        if (seen_ < interval.rows)
            throw Error{.what = "the file is damaged: of the table " + std::string(table_.name) + " " +
                                std::to_string(interval.rows - seen_) + " rows of run " +
                                std::to_string(window_.run) + " are missing",
                        .where = connection_.file().string(),
                        .mend = "use a copy of it, or see with `tilescope verify` what is left"};
        running_ = false;
        ++interval_;
    }
    return false;
}

bool EventCursor::wanted() const
{
    const std::int64_t start = row_[static_cast<std::size_t>(table_.start)];
    const std::int64_t duration = table_.duration < 0 ? 0 : row_[static_cast<std::size_t>(table_.duration)];
    if (start >= window_.end || row_[1] != window_.run)
        return false;
    // An event without length belongs to the window in which it begins.
    if (start < window_.begin) {
        // Unsigned: right for any two times, even a damaged file's.
        const auto before = static_cast<std::uint64_t>(window_.begin) - static_cast<std::uint64_t>(start);
        if (duration <= 0 || static_cast<std::uint64_t>(duration) <= before)
            return false;
    }
    return !window_.step || row_[2] == *window_.step;
}

void EventCursor::fetch(std::size_t from, std::size_t to)
{
    sqlite3_stmt* query = query_.get();
    for (std::size_t column = from; column < to; ++column) {
        sqlite3_value* value = sqlite3_column_value(query, static_cast<int>(column));
        row_[column] = sqlite3_value_type(value) == SQLITE_NULL ? kNull : sqlite3_value_int64(value);
    }
}

const std::int64_t* EventCursor::next()
{
    // Run, step and times come first in each table: most rows outside the window cost no more than these.
    constexpr std::size_t kDeciding = 5;
    while (step()) {
        fetch(0, kDeciding);
        if (!wanted())
            continue;
        fetch(kDeciding, table_.columns.size());
        return row_.data();
    }
    return nullptr;
}

} // namespace tilescope::store
