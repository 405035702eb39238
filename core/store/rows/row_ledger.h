#pragma once

#include "core/store/file/statement_cache.h"
#include "core/store/rows/books.h"
#include "core/store/rows/event_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

struct sqlite3_stmt;

namespace tilescope::store {

/// The tables with counts and checksums.
enum class Source : std::uint8_t {
    String,
    Run,
    Environment,
    Sample,
    Loss,
    Thread,
    Launch,
    KernelName,
    Range,
    Op,
    ApiCall,
    Kernel,
    Copy,
    Allocation,
    Frame,
    Track,
    TrackData,
    Ceiling,
    Counter,
    MemoryBlock,
    MemorySegment,
    MemoryReading,
    SavedTensor,
    KernelTotal,
    RangeTotal,
    StepTotal,
    CodePlace,
    Clock,
    Process,
    Device,
    Stream,
    Collective,
    Wait,
    CounterTrack,
    OpTotal,
    ActivityTotal,
    AllocationTotal
};
inline constexpr std::size_t kSources = 37;
std::string_view nameOf(Source source); ///< the table; ends with a null character
/// The table that version 9 removed. Its rows in `chunk` and `tally` stay in files of earlier versions.
inline constexpr std::string_view kRemovedTable = "level";
inline Source sourceOf(EventKind kind)
{
    return static_cast<Source>(static_cast<std::size_t>(Source::Range) + static_cast<std::size_t>(kind));
}

/// A row of the table `chunk`: rows that were written together.
struct Chunk {
    std::optional<std::int64_t> run;
    Source source = Source::String;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    std::int64_t start = kNull; ///< earliest start and latest end of events
    std::int64_t end = kNull;
    std::uint64_t checksum = 0;
};

/// Hands out the ids of new rows and keeps the file's accounts: `tally`, `chunk` and their sum in `file`.
///
/// Belongs to the one write connection; flush() must be part of each transaction that added rows.
class RowLedger {
public:
    explicit RowLedger(SQLite::Database& database);

    DigestRule rule() const { return rule_; } ///< of the file

    std::int64_t takeId(Source source) { return tallies_[index(source)].next++; }
    std::int64_t nextId(Source source) const { return tallies_[index(source)].next; }
    /// Ids that a tracer chose itself, or that rows merely refer to: no other run may get them.
    void reserve(Source source, std::int64_t id);

    /// Accounts for one row of a table other than an event table. Rows of one chunk belong to one run.
    void add(Source source, std::optional<std::int64_t> run, std::int64_t id, const RowDigest& digest);
    /// Accounts for events.
    void add(const Chunk& chunk);
    /// Replaces the sum of a run's own row after the row changes.
    void replaceRunRow(std::int64_t run, const RowDigest& digest);

    /// Takes all rows of a run off the books; their ids are not given again.
    void removeRun(std::int64_t run);

    void flush();

private:
    struct Tally {
        std::int64_t rows = 0;
        std::int64_t next = 1;
        bool changed = false;
        bool stored = false; ///< it has a row
    };
    static std::size_t index(Source source) { return static_cast<std::size_t>(source); }
    void insert(const Chunk& chunk);
    StatementCache::Loan query(std::string_view sql) { return statements_.get(database_, sql); }
    std::uint64_t sumOfTallies() const;
    void balance();

    SQLite::Database& database_;
    const DigestRule rule_;
    std::uint64_t chunkSum_ = 0; ///< of the rows of `chunk`
    StatementCache statements_;
    SQLite::Statement insertChunk_;
    SQLite::Statement updateTally_;
    std::array<Tally, kSources> tallies_{};
    std::array<Chunk, kSources> open_{}; ///< of tables other than event tables; rows 0: none
};

/// Decides before a column is added whether it counts. A column that a later version of the table added
/// counts with its position, and only if it is not null.
bool beginColumn(int column, bool isNull, Source source, RowDigest& digest);

/// Returns the checksum of the query's current row, over all columns of its table in order. Bound values and
/// values that are read back have the same sum. Columns that a later version added count only if they are not
/// null, so that upgrading a file does not change the sum of a row.
RowDigest digestOf(sqlite3_stmt* row, Source source, DigestRule rule);
/// \param columns  of the table; the query may have more behind them
RowDigest digestOf(SQLite::Statement& row, int columns, Source source, DigestRule rule);

} // namespace tilescope::store
