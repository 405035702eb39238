#pragma once

#include "core/store/file/statement_cache.h"
#include "core/store/rows/row_digest.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3_stmt;

namespace tilescope::store {

// Every row of a file, except those of the table `chunk` itself, belongs to a chunk: up to several hundred rows of one
// table that were written together. A row of `chunk` says which ids they have, which run they belong to and when their
// events were, and has a checksum of these rows and of what it says of them. Chunks are found by the names of the
// schema's tables, so a new table is covered as soon as its rows are written.

/// The first version of the schema with these checksums. Those of older files are not read: a file gets them when it is
/// first written to.
inline constexpr int kFirstWithChecksums = 13;

/// The most rows of a chunk: few enough that a window of time reads few rows outside it, many enough that the cost of the
/// chunk's row is negligible.
inline constexpr std::size_t kChunkRows = 512;

/// Tables that are made from the events of a run when it ends.
inline constexpr std::string_view kDerivedTables[] = {"track",          "track_data",       "kernel_total",
                                                      "range_total",    "step_total",       "op_total",
                                                      "activity_total", "allocation_total", "path_total"};
bool isDerived(std::string_view table);
/// Whether a copied run gets the rows of a table by computing them from its events. The table path_total is copied instead: the store
/// cannot compute critical paths.
bool isRebuiltOnCopy(std::string_view table);

/// A row of the table `chunk`.
struct Chunk {
    std::int64_t id = 0;
    std::optional<std::int64_t> run; ///< none: rows that all runs share
    std::string table;               ///< the column `source`
    std::int64_t first = 0;          ///< lowest and highest id of the rows
    std::int64_t last = 0;
    std::int64_t rows = 0;
    std::int64_t start = kNull; ///< earliest start and latest end of events
    std::int64_t end = kNull;
    std::uint64_t sum = 0; ///< of the digests of the rows

    /// Counts a row; the ids may come in any order.
    void add(std::int64_t rowId, const RowDigest& digest);
};
/// What Chunks are read with: `select <kChunkColumns> from chunk`.
inline constexpr const char* kChunkColumns =
    "chunk.id, chunk.run, chunk.source, chunk.first, chunk.last, chunk.rows, "
    "chunk.start, chunk.end, chunk.checksum";
/// The chunk in the columns kChunkColumns of the current row, of which `column` is the first.
Chunk chunkAt(SQLite::Statement& row, int column = 0);

/// The tables whose rows are in chunks.
/// \param version  of the file's schema
std::vector<std::string> tablesInChunks(SQLite::Database& database, int version);

inline constexpr int kChunkColumnCount = 9;

/// The digest of the query's current row, over `columns` columns from the first. Values that are bound and values that are
/// read back have the same digest.
RowDigest digestOf(sqlite3_stmt* row, int columns);
RowDigest digestOf(SQLite::Statement& row, int columns, int first = 0);
/// Adds the value of a column of the query's current row, by its type.
void addColumn(sqlite3_stmt* row, int column, RowDigest& digest);
void addColumn(const SQLite::Column& value, RowDigest& digest);

/// Writes the chunks of all rows anew, those of a file of an earlier version. Reads the whole file.
void writeChunksAnew(SQLite::Database& database);

/// Gives the ids of new rows and writes their chunks.
///
/// Belongs to the one write connection; flush() must be part of each transaction that added rows.
class ChunkWriter {
public:
    /// What is known of a table while its rows are written.
    class Table {
    public:
        std::int64_t takeId() { return reserve(next_), next_ - 1; }
        std::int64_t nextId() const { return next_; }
        /// An id that a tracer chose itself, or that rows merely refer to: no other run may get it.
        void reserve(std::int64_t id)
        {
            if (id >= next_) {
                next_ = id + 1;
                changed_ = true;
            }
        }

    private:
        friend class ChunkWriter;
        std::string name_;
        std::int64_t next_ = 1;
        bool changed_ = false;
        Chunk open_; ///< of tables other than event tables; rows 0: none
    };

    explicit ChunkWriter(SQLite::Database& database);

    /// Valid as long as this object.
    Table& table(std::string_view name);

    /// Accounts for one row of a table other than an event table.
    void add(Table& table, std::optional<std::int64_t> run, std::int64_t id, const RowDigest& digest);
    /// Writes a chunk, whatever its id is.
    void add(Chunk chunk);
    /// Writes the chunk of a run's own row anew after the row changed.
    void rewriteRun(std::int64_t run);
    /// Removes the chunks of a run; the ids of its rows are not given again.
    void removeRun(std::int64_t run);

    void flush();

    /// Refuses a file whose rows of `file` and `next_id` are damaged: flush() writes their chunks anew.
    void requireOwnRows(const std::filesystem::path& file);

private:
    StatementCache::Handle query(std::string_view sql) { return statements_.get(database_, sql); }
    Chunk chunkOf(std::string_view table, std::optional<std::int64_t> run);
    Chunk storedChunk(std::string_view table, std::optional<std::int64_t> run);
    void rewrite(std::string_view table, std::optional<std::int64_t> run);
    void store(const Chunk& chunk);

    SQLite::Database& database_;
    StatementCache statements_;
    std::int64_t nextChunk_ = 1;
    std::map<std::string, Table, std::less<>> tables_;
};

} // namespace tilescope::store
