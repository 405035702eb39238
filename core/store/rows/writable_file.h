#pragma once

#include "core/store/file/database.h"
#include "core/store/file/new_file.h"
#include "core/store/file/statement_cache.h"
#include "core/store/file/writer_lock.h"
#include "core/store/rows/chunks.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_appender.h"
#include "core/store/rows/string_map.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>

namespace tilescope {
class TemporaryPath;
}

namespace tilescope::store {

/// A .tscope file that this process may write: lock, connection, chunks, strings, and a row appender for
/// each event table. The base of RunWriter and the maintenance functions.
///
/// One thread. All writes happen between begin() and commit(). seal() ends writing; the destructor does so
/// too and discards what was not committed, and all of a new file that would appear when sealed.
class WritableFile {
public:
    /// Opens, creates or upgrades the file; marks runs of a dead writer as interrupted. A foreign file and
    /// its folder stay untouched.
    /// \throws Error
    WritableFile(const std::filesystem::path& file, const StringTable& strings,
                 NewFile newFile = NewFile::AtOnce);
    ~WritableFile();
    WritableFile(const WritableFile&) = delete;
    WritableFile& operator=(const WritableFile&) = delete;

    /// Starts a transaction unless one is open.
    void begin();
    /// Writes what waits in the appenders and the chunks.
    void flush();
    /// Also commits.
    void commit();
    /// Call after a failure: discards what was not committed and writes nothing more, not even the seal. The
    /// next writer finds all committed data.
    void abandon() noexcept;
    /// Seals the file: checkpoints it and removes the log. If another program has the file open, the log may
    /// stay until the next writer, with a warning.
    void seal();

    bool isSealed() const { return sealed_; }
    /// Whether the file is a new one that appears when sealed.
    bool isDraft() const { return draft_ != nullptr; }

    /// After any change of the run's own row.
    void updateRunChecksum(std::int64_t run);

    /// Each as often as SQLite looked at it.
    std::int64_t pagesLookedAt() const;

    const std::filesystem::path& file() const { return file_; }
    SQLite::Database& database() { return *database_; }
    /// Compiled once.
    StatementCache::Handle query(std::string_view sql) { return statements_.get(*database_, sql); }
    ChunkWriter& chunks() { return *chunks_; }
    StringMap& strings() { return *strings_; }
    RowAppender& appender(EventKind kind) { return *appenders_[static_cast<std::size_t>(kind)]; }

private:
    void requireReadable();
    void create(NewFile newFile);
    void moveDraft();
    void open(NewFile newFile);
    void sealDraft();
    void adopt();
    void requireInPlace();

    const std::filesystem::path file_;
    std::optional<WriterLock> lock_;       // taken before the database is opened, released after it is closed
    std::unique_ptr<TemporaryPath> draft_; ///< folder of a new file that is not in its place
    std::unique_ptr<SQLite::Database> database_;
    StatementCache statements_;
    std::unique_ptr<ChunkWriter> chunks_;
    std::unique_ptr<StringMap> strings_;
    std::array<std::unique_ptr<RowAppender>, kEventKinds> appenders_;
    bool open_ = true; ///< neither sealed nor abandoned
    bool sealed_ = false;
};

} // namespace tilescope::store
