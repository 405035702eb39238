#pragma once

#include "core/store/file/database.h"
#include "core/store/file/statement_cache.h"
#include "core/store/file/writer_lock.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_appender.h"
#include "core/store/rows/row_ledger.h"
#include "core/store/rows/string_map.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>

namespace tilescope::store {

/// A .tscope file that this process may write: lock, connection, accounts, strings, and a row appender for
/// each event table. What RunWriter and the maintenance functions stand on.
///
/// One thread. Everything is written within begin() and commit(). seal() ends it; so does destruction, which
/// gives up what was not committed.
class WritableFile {
public:
    /// Opens, creates or upgrades; calls runs interrupted whose writer died. A foreign file is left alone,
    /// its folder too.
    /// \throws Error
    WritableFile(const std::filesystem::path& file, const StringTable& strings);
    ~WritableFile();
    WritableFile(const WritableFile&) = delete;
    WritableFile& operator=(const WritableFile&) = delete;

    /// Starts a transaction unless one is open.
    void begin();
    /// Writes what waits in the appenders and the accounts.
    void flush();
    /// The same, and commits.
    void commit();
    /// After a failure: gives up what was not committed; nothing is written any more, sealing included. The
    /// next writer finds all that was committed.
    void abandon() noexcept;
    /// Makes the file one plain file: checkpointed, no log beside it. A program that has it open may hinder
    /// that; then the log stays until the next writer, and a warning says so.
    void seal();

    /// After any change of the run's own row.
    void updateRunChecksum(std::int64_t run);

    const std::filesystem::path& file() const { return file_; }
    SQLite::Database& database() { return *database_; }
    /// Compiled once.
    StatementCache::Loan query(std::string_view sql) { return statements_.get(*database_, sql); }
    RowLedger& ledger() { return *ledger_; }
    StringMap& strings() { return *strings_; }
    RowAppender& appender(EventKind kind) { return *appenders_[static_cast<std::size_t>(kind)]; }

private:
    void create();
    void open();
    void adopt();
    void requireInPlace();

    const std::filesystem::path file_;
    std::optional<WriterLock> lock_; // taken before the database is opened, let go after it is closed
    std::unique_ptr<SQLite::Database> database_;
    StatementCache statements_;
    std::unique_ptr<RowLedger> ledger_;
    std::unique_ptr<StringMap> strings_;
    std::array<std::unique_ptr<RowAppender>, kEventKinds> appenders_;
    bool open_ = true; ///< neither sealed nor abandoned
};

} // namespace tilescope::store
