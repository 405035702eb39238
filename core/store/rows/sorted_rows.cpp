#include "core/store/rows/sorted_rows.h"

#include "core/store/file/database.h"
#include "core/store/rows/row_digest.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace tilescope::store {

namespace {

/// The run's rows are contiguous: its chunks give their ids, so other rows are not read.
std::string queryOf(const EventTable& table, const std::vector<std::size_t>& places)
{
    std::string columns;
    for (const std::size_t place : places)
        columns.append(columns.empty() ? "" : ", ").append(table.columns[place]);
    const std::string name(table.name);
    const std::string chunks = " from chunk where run = ?1 and source = '" + name + "')";
    return "select " + columns + " from " + name + " where run = ?1 and id between (select min(first)" +
           chunks + " and (select max(last)" + chunks + " order by id";
}

/// Each column costs about 40 ns a row.
bool isRead(EventKind kind, std::size_t column)
{
    const ColumnRole role = roleOf(kind, column);
    if (role == ColumnRole::RowId || role == ColumnRole::Run || role == ColumnRole::Launch ||
        role == ColumnRole::RangeId)
        return false;
    constexpr std::string_view kNotNeeded[] = {"scope", "sequence", "direction", "address"};
    return std::ranges::find(kNotNeeded, eventTable(kind).columns[column]) == std::end(kNotNeeded);
}

} // namespace

SortedRows::SortedRows(SQLite::Database& database, EventKind kind, std::int64_t run)
    : database_(database), query_(nullptr, &sqlite3_finalize), kind_(kind)
{
    for (std::size_t column = 0; column < eventTable(kind).columns.size(); ++column)
        if (isRead(kind, column))
            places_.push_back(column);
    const std::string sql = queryOf(eventTable(kind), places_);
    sqlite3_stmt* query = nullptr;
    check(database.getHandle(), sqlite3_prepare_v2(database.getHandle(), sql.c_str(),
                                                   static_cast<int>(sql.size()), &query, nullptr));
    query_.reset(query);
    sqlite3_bind_int64(query, 1, run);
}

const EventRow* SortedRows::next()
{
    if (!done_ && rows_.size() - at_ <= kHeld)
        refill();
    return at_ < rows_.size() ? &rows_[at_++] : nullptr;
}

void SortedRows::refill()
{
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    sqlite3_stmt* query = query_.get();
    while (rows_.size() < 2 * kHeld) {
        const int code = sqlite3_step(query);
        if (code != SQLITE_ROW) {
            check(database_.getHandle(), code);
            done_ = true;
            break;
        }
        EventRow& row = rows_.emplace_back(EventRow{.kind = kind_});
        row.values.fill(kNull);
        for (int column = 0; const std::size_t place : places_) {
            sqlite3_value* value = sqlite3_column_value(query, column++);
            row.values[place] = sqlite3_value_type(value) == SQLITE_NULL ? kNull : sqlite3_value_int64(value);
        }
    }
    if (!std::ranges::is_sorted(rows_, {}, &EventRow::start))
        std::ranges::stable_sort(rows_, {}, &EventRow::start);
}

} // namespace tilescope::store
