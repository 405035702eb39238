#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace tilescope::bench {

/// The rows of one batch as integers, one list per table; -1 means null.
struct RawRows {
    std::vector<std::int64_t> ranges, ops, kernels, allocations;
};

/// What any program would do: prepared statements, bind, step, one transaction for 200,000 rows. The measure
/// that the store's own way is held against: the same columns with the same values, and nothing else (no
/// strings, no launches, no checksums).
class RawSqlite {
public:
    explicit RawSqlite(const std::filesystem::path& file);
    ~RawSqlite();
    RawSqlite(const RawSqlite&) = delete;
    RawSqlite& operator=(const RawSqlite&) = delete;

    /// Turns a batch into rows; outside what is measured. `first` is the number of rows before it, by table.
    static void encode(const TraceBatch& batch, Timestamp origin, RawRows& rows);
    void insert(const RawRows& rows);
    void finish();

private:
    void exec(const char* sql);
    void insertAll(sqlite3_stmt* statement, const std::vector<std::int64_t>& rows, int columns);

    sqlite3* database_ = nullptr;
    sqlite3_stmt* range_ = nullptr;
    sqlite3_stmt* op_ = nullptr;
    sqlite3_stmt* kernel_ = nullptr;
    sqlite3_stmt* allocation_ = nullptr;
    std::int64_t uncommitted_ = 0;
};

} // namespace tilescope::bench
