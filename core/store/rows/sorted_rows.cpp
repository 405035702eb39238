#include "core/store/rows/sorted_rows.h"

#include "core/store/file/database.h"
#include "core/store/rows/row_digest.h"

#include <sqlite3.h>

#include <algorithm>

namespace tilescope::store {

SortedRows::SortedRows(SQLite::Database& database, const std::string& sql, std::int64_t run)
    : database_(database), query_(nullptr, &sqlite3_finalize)
{
    sqlite3_stmt* query = nullptr;
    check(database.getHandle(), sqlite3_prepare_v2(database.getHandle(), sql.c_str(),
                                                   static_cast<int>(sql.size()), &query, nullptr));
    query_.reset(query);
    sqlite3_bind_int64(query, 1, run);
    columns_ = std::min(sqlite3_column_count(query), static_cast<int>(kMostColumns));
}

const SortedRows::Row* SortedRows::next()
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
        Row row{};
        for (int column = 0; column < columns_; ++column) {
            sqlite3_value* value = sqlite3_column_value(query, column);
            row[static_cast<std::size_t>(column)] =
                sqlite3_value_type(value) == SQLITE_NULL ? kNull : sqlite3_value_int64(value);
        }
        rows_.push_back(row);
    }
    const auto start = [](const Row& row) { return row[0]; };
    if (!std::ranges::is_sorted(rows_, {}, start))
        std::ranges::stable_sort(rows_, {}, start);
}

} // namespace tilescope::store
