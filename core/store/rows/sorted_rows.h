#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct sqlite3_stmt;

namespace tilescope::store {

/// Reads rows of integers sorted by their first column, the start, from a table that is nearly in that order.
///
/// Buffers and sorts about ten thousand rows: a row that is displaced by more is returned late.
class SortedRows {
public:
    static constexpr std::size_t kMostColumns = 13;
    using Row = std::array<std::int64_t, kMostColumns>; ///< kNull for null

    /// \param sql  a query of one parameter, the run; its first column is the start
    SortedRows(SQLite::Database& database, const std::string& sql, std::int64_t run);

    /// The next row, valid until the following call; nullptr at the end.
    const Row* next();

private:
    static constexpr std::size_t kHeld = 32'768;

    void refill();

    SQLite::Database& database_;
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> query_;
    int columns_ = 0;
    std::vector<Row> rows_;
    std::size_t at_ = 0;
    bool done_ = false;
};

} // namespace tilescope::store
