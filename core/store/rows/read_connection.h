#pragma once

#include "core/store/file/database.h"
#include "core/store/file/file_check.h"
#include "core/store/file/statement_cache.h"
#include "core/store/rows/chunks.h"
#include "core/store/rows/event_rows.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

struct sqlite3_stmt;

namespace tilescope::store {

/// A compiled query that returns to its connection's pool when it is destroyed.
class CachedStatement {
public:
    CachedStatement(sqlite3_stmt* statement, std::vector<sqlite3_stmt*>& idle)
        : statement_(statement), idle_(&idle)
    {
    }
    ~CachedStatement();
    CachedStatement(const CachedStatement&) = delete;
    CachedStatement& operator=(const CachedStatement&) = delete;
    sqlite3_stmt* get() const { return statement_; }

private:
    sqlite3_stmt* statement_;
    std::vector<sqlite3_stmt*>* idle_;
};

/// The read-only connection of a RunReader. It is checked when it opens, and not kept open while the file has
/// a writer.
///
/// An open connection to a file in WAL mode, even an idle one, prevents its writer from sealing it. While
/// there is a writer, each use therefore opens and closes its own connection. If a writer sealed the file all the
/// same, because something in this process closed a descriptor of the file and with it dropped the locks of the
/// process, the next use opens the file again. One thread at a time may use it.
class ReadConnection {
public:
    /// \throws Error  for a file that is not ours, newer, damaged or not to be opened
    explicit ReadConnection(std::filesystem::path file);
    ~ReadConnection();
    ReadConnection(const ReadConnection&) = delete;
    ReadConnection& operator=(const ReadConnection&) = delete;

    /// One snapshot of the file, from construction to destruction. Uses may nest.
    class Use {
    public:
        explicit Use(ReadConnection& connection) : connection_(connection) { connection_.enter(); }
        ~Use() { connection_.leave(); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

    private:
        ReadConnection& connection_;
    };

    /// Only within a Use.
    SQLite::Database& database() { return *database_; }
    /// `select <columns> from <table> where id between ?1 and ?2`. Only within a Use.
    CachedStatement eventQuery(EventKind kind);
    /// Compiled once. Only within a Use.
    StatementCache::Handle query(std::string_view sql) { return statements_.get(*database_, sql); }

    const std::filesystem::path& file() const { return file_; }
    /// Whether the file has the checksums that are read; those of older files are not.
    bool hasChecksums() const { return header_.version >= kFirstWithChecksums; }
    /// Grows whenever the file may have other contents than before.
    std::uint64_t generation() const { return generation_; }

private:
    struct Identity {
        std::uint64_t device = 0;
        std::uint64_t node = 0;
        bool operator==(const Identity&) const = default;
    };

    static std::optional<Identity> identityOf(const std::filesystem::path& file);
    Identity identity() const;
    std::optional<Identity> logIdentity() const;
    void enter();
    void leave() noexcept;
    void open();
    void close() noexcept;
    void requireCounts();

    const std::filesystem::path file_;
    Identity identity_;
    FileHeader header_;
    std::optional<Identity> log_; ///< the write-ahead log that the connection reads
    std::unique_ptr<SQLite::Database> database_;
    StatementCache statements_; ///< of the database
    std::array<std::vector<sqlite3_stmt*>, kEventKinds> idleStatements_;
    int depth_ = 0;
    bool checked_ = false;
    std::int64_t schemaVersion_ = 0;
    std::int64_t dataVersion_ = 0;
    std::uint64_t generation_ = 0;
};

} // namespace tilescope::store
