#pragma once

#include "core/store/rows/chunk_directory.h"
#include "core/store/rows/read_connection.h"
#include "core/store/rows/table_pages.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilescope::store {

/// Which of a run's rows to read; times are relative to the run's clock origin.
struct RowWindow {
    std::int64_t run = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::optional<std::int32_t> step;
};

/// Iterates over the rows of one event table in a window, in id order.
///
/// Reads whole chunks and compares their rows with their checksums: from the pages of the file (TablePages) or, if it has a
/// write-ahead log, by a query. Only within a ReadConnection::Use.
/// \throws Error  rows are missing or changed
class EventCursor {
public:
    EventCursor(ReadConnection& connection, EventKind kind, std::vector<IdInterval> intervals,
                const RowWindow& window);

    /// The next row's integers, valid until the next call; nullptr at the end.
    const std::int64_t* next();

private:
    bool step();
    void begin(const IdInterval& interval);
    bool fetch();
    bool fetchFromPages(const IdInterval& interval);
    bool wanted() const;
    void requireWhole(const IdInterval& interval) const;

    ReadConnection& connection_;
    const EventTable& table_;
    const std::vector<IdInterval> intervals_;
    const RowWindow window_;
    CachedStatement query_;
    std::optional<TablePages> pages_; ///< instead of the query, if the file has no write-ahead log
    std::size_t interval_ = 0;
    bool running_ = false;
    IdInterval seen_; ///< accumulated contents of the current interval
    std::array<std::int64_t, kMostColumns> row_{};
};

} // namespace tilescope::store
