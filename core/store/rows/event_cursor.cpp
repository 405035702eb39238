#include "core/store/rows/event_cursor.h"

#include "core/base/plural.h"
#include "core/store/rows/read_count.h"

#include <sqlite3.h>

#include <string>

namespace tilescope::store {

EventCursor::EventCursor(ReadConnection& connection, EventKind kind, std::vector<IdInterval> intervals,
                         const RowWindow& window)
    : connection_(connection), table_(eventTable(kind)), intervals_(std::move(intervals)), window_(window),
      query_(connection.eventQuery(kind))
{
    if (!intervals_.empty())
        pages_ = TablePages::of(connection.database().getHandle(), table_.name, table_.columns.size());
}

/// To the next row of the run, across intervals.
bool EventCursor::step()
{
    while (interval_ < intervals_.size()) {
        const IdInterval& interval = intervals_[interval_];
        if (!running_)
            begin(interval);
        if (pages_ ? fetchFromPages(interval) : fetch())
            return true;
        requireWhole(interval);
        ReadCount::add(interval.rows);
        running_ = false;
        ++interval_;
    }
    return false;
}

void EventCursor::begin(const IdInterval& interval)
{
    seen_ = {interval.first, interval.last};
    running_ = true;
    if (pages_) {
        pages_->seek(interval.first);
        return;
    }
    sqlite3_bind_int64(query_.get(), 1, interval.first);
    sqlite3_bind_int64(query_.get(), 2, interval.last);
}

bool EventCursor::fetchFromPages(const IdInterval& interval)
{
    if (!pages_->next(interval.last, row_.data()))
        return false;
    RowDigest digest;
    for (std::size_t column = 0; column < table_.columns.size(); ++column)
        digest.addOrNull(row_[column]);
    ++seen_.rows;
    seen_.sum += digest.value();
    return true;
}

bool EventCursor::fetch()
{
    sqlite3_stmt* query = query_.get();
    if (sqlite3_step(query) != SQLITE_ROW) {
        check(connection_.database().getHandle(), sqlite3_reset(query));
        return false;
    }
    RowDigest digest;
    for (std::size_t column = 0; column < table_.columns.size(); ++column) {
        // One call for type and value: calls are most of the cost of a row.
        const int position = static_cast<int>(column);
        sqlite3_value* value = sqlite3_column_value(query, position);
        switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER:
            row_[column] = sqlite3_value_int64(value);
            digest.add(row_[column]);
            break;
        case SQLITE_NULL:
            row_[column] = kNull;
            digest.addNull();
            break;
        default: // only in a damaged file
            row_[column] = sqlite3_value_int64(value);
            addColumn(query, position, digest);
        }
    }
    ++seen_.rows;
    seen_.sum += digest.value();
    return true;
}

void EventCursor::requireWhole(const IdInterval& interval) const
{
    if (seen_.rows == interval.rows && (seen_.sum == interval.sum || !connection_.hasChecksums()))
        return;
    throw Error{.what = "the file is damaged: in the table " + std::string(table_.name) + ", run " +
                        std::to_string(window_.run) + ", " +
                        (seen_.rows == interval.rows
                             ? std::string("rows are not as they were written")
                             : counted(interval.rows, "row") + plural(interval.rows, " was", " were") +
                                   " written and " + std::to_string(seen_.rows) +
                                   plural(seen_.rows, " is", " are") + " there"),
                .where = connection_.file().string(),
                .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
}

bool EventCursor::wanted() const
{
    const std::int64_t start = row_[EventTable::start];
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

const std::int64_t* EventCursor::next()
{
    while (step())
        if (wanted())
            return row_.data();
    return nullptr;
}

} // namespace tilescope::store
