#include "core/store/rows/writable_file.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/temporary_path.h"
#include "core/base/this_host.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/rows/stored_rows.h"

#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr int kBusyMs = 10'000;
/// How long to wait for other programs that have the file open before its log is left beside it.
constexpr auto kSealWithin = std::chrono::seconds(3);
constexpr auto kSealAgain = std::chrono::milliseconds(10);

/// Name of a new file in its temporary folder.
constexpr const char* kDraft = "new";

} // namespace

WritableFile::WritableFile(const fs::path& path, const StringTable& strings, NewFile newFile)
    : file_(outputPath(path))
{
    // Checked before the lock file is created, so that a foreign file and its folder stay untouched.
    std::error_code error;
    if (fs::exists(file_, error) && fs::file_size(file_, error) > 0)
        requireTilescopeFile(file_, static_cast<int>(embeddedMigrations().size()));
    lock_.emplace(file_);
    TemporaryPath::removeLeftovers(file_);
    requireReadable();
    translating(file_, [&] {
        open(newFile);
        chunks_ = std::make_unique<ChunkWriter>(*database_);
        begin();
        chunks_->requireOwnRows(file_);
        adopt();
        strings_ = std::make_unique<StringMap>(*database_, *chunks_, strings);
        for (std::size_t kind = 0; kind < kEventKinds; ++kind)
            appenders_[kind] =
                std::make_unique<RowAppender>(*database_, *chunks_, static_cast<EventKind>(kind));
        commit();
    });
}

WritableFile::~WritableFile()
{
    if (!open_ || draft_)
        return;
    try {
        translating(file_, [this] {
            if (sqlite3_get_autocommit(database_->getHandle()) == 0)
                database_->exec("rollback");
            // The chunks counts rows of a transaction that was rolled back, here or by SQLite itself when
            // the disk was full.
            chunks_ = std::make_unique<ChunkWriter>(*database_);
            seal();
        });
    } catch (...) {
        warn(currentExceptionSentence());
    }
}

/// Refuses an existing file that a reader refuses. Changes would hide the damage from the next verify.
void WritableFile::requireReadable()
{
    std::error_code error;
    if (!fs::exists(file_, error) || fs::file_size(file_, error) == 0)
        return;
    translating(file_, [this] {
        StoredRows rows(file_);
        rows.use([&rows] { rows.runs({}); });
    });
}

/// A new file appears atomically: a killed process leaves no file, or an empty one that existed before.
void WritableFile::create(NewFile newFile)
{
    draft_ = std::make_unique<TemporaryPath>(file_, TemporaryPath::Kind::Folder);
    {
        SQLite::Database database((draft_->path() / kDraft).string(),
                                  SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        database.exec("pragma page_size = 4096; pragma journal_mode = memory");
        migrate(database, 0, embeddedMigrations());
    }
    if (newFile == NewFile::AtOnce)
        moveDraft();
}

void WritableFile::moveDraft()
{
    std::error_code error;
    // Logs of a file that was taken away would be read as this one's.
    for (const char* suffix : {"-wal", "-shm", "-journal"})
        fs::remove(fs::path(file_) += suffix, error);
    moveIntoPlace(draft_->path() / kDraft, file_);
    draft_.reset();
}

/// Opens the database of a file whose writer lock is held, and creates or upgrades it.
void WritableFile::open(NewFile newFile)
{
    std::error_code error;
    if (!fs::exists(file_, error) || fs::file_size(file_, error) == 0)
        create(newFile);
    const fs::path path = draft_ ? draft_->path() / kDraft : file_;
    const auto migrations = embeddedMigrations();
    const int newest = static_cast<int>(migrations.size());
    const int version = requireTilescopeFile(path, newest).version;
    if (access(path.c_str(), W_OK) != 0)
        throw Error{.what = "cannot be written", .where = file_.string(), .remedy = "choose a writable file"};
    auto database = std::make_unique<SQLite::Database>(
        path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyMs);
    harden(*database);
    requireOurSchema(*database, path, version, migrations);
    if (version < newest)
        migrate(*database, version, migrations, version < kFirstWithChecksums ? writeChunksAnew : nullptr);
    // Rows are only appended, so a small cache suffices. A large one would fill with pages that are never
    // read again, and resemble a leak.
    database->exec("pragma cache_size = -8192; pragma temp_store = memory");
    // Nobody else knows a draft, and it is of no use unless it is complete: it needs no log and no order on the
    // disk. moveIntoPlace() synchronizes it.
    if (draft_)
        database->exec(
            "pragma locking_mode = exclusive; pragma journal_mode = memory; pragma synchronous = off");
    else
        database->exec(
            "pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 8000");
    database_ = std::move(database);
}

void WritableFile::begin()
{
    if (sqlite3_get_autocommit(database_->getHandle()) != 0)
        query("begin immediate")->exec();
}

void WritableFile::commit()
{
    if (sqlite3_get_autocommit(database_->getHandle()) != 0)
        return;
    requireInPlace();
    flush();
    query("commit")->exec();
}

void WritableFile::flush()
{
    for (auto& appender : appenders_)
        appender->flush();
    chunks_->flush();
}

/// Rows that go to a file without a name, or under another one, would be lost without a word.
void WritableFile::requireInPlace()
{
    int moved = 0;
    if (sqlite3_file_control(database_->getHandle(), nullptr, SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
        moved != 0)
        throw Error{.what = "was deleted, moved or replaced while it was being written",
                    .where = file_.string(),
                    .remedy = "start again with a new file, or put it back beside its log (" +
                              file_.filename().string() + "-wal)",
                    .kind = ErrorKind::Failure};
}

std::int64_t WritableFile::pagesLookedAt() const
{
    std::int64_t pages = 0;
    for (const int counter : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
        int count = 0;
        int most = 0;
        check(database_->getHandle(), sqlite3_db_status(database_->getHandle(), counter, &count, &most, 0));
        pages += count;
    }
    return pages;
}

void WritableFile::abandon() noexcept
{
    open_ = false;
    if (sqlite3_get_autocommit(database_->getHandle()) == 0)
        database_->tryExec("rollback");
}

/// Takes over the file: marks it as unsealed, and the runs of a dead writer as interrupted.
void WritableFile::adopt()
{
    SQLite::Statement row(*database_, "insert into file (id, created, program, sealed, edition) "
                                      "values (1, ?, ?, 0, 0) "
                                      "on conflict (id) do update set sealed = 0");
    row.bind(1, unixNs());
    row.bind(2, "Tilescope");
    row.exec();
    std::vector<std::int64_t> orphans;
    SQLite::Statement query(*database_, "select id from run where status = 'running'");
    while (query.executeStep())
        orphans.push_back(query.getColumn(0).getInt64());
    for (const std::int64_t run : orphans) {
        SQLite::Statement update(*database_,
                                 "update run set status = 'interrupted', reason = ? where id = ?");
        update.bind(1, kWriterKilled);
        update.bind(2, run);
        update.exec();
        updateRunChecksum(run);
    }
}

void WritableFile::updateRunChecksum(std::int64_t run)
{
    chunks_->rewriteRun(run);
}

void WritableFile::seal()
{
    open_ = false;
    requireInPlace();
    begin();
    database_->exec("update file set sealed = 1");
    chunks_->flush();
    database_->exec("commit");
    if (draft_)
        return sealDraft();
    sealed_ = true;
    // SQLite's timeout does not cover this step. Readers that know about writers close their connections;
    // others do not.
    const auto deadline = std::chrono::steady_clock::now() + kSealWithin;
    while (database_->tryExec("pragma journal_mode = delete") != SQLITE_OK) {
        if (database_->getErrorCode() != SQLITE_BUSY)
            throw SQLite::Exception(database_->getHandle());
        if (std::chrono::steady_clock::now() > deadline) {
            // All is in the file or its log, whole; the next writer makes it one file.
            warn(file_.string() + ": " + lockHolderOf(file_) + " has it open, so the log beside it (" +
                 file_.filename().string() + "-wal) stays until the next writer");
            return;
        }
        std::this_thread::sleep_for(kSealAgain);
    }
}

void WritableFile::sealDraft()
{
    // Others may open the file as soon as it has its name; the lock goes with the next reading.
    database_->exec("pragma locking_mode = normal");
    integerOf(*database_, "select sealed from file");
    moveDraft();
    sealed_ = true;
}

} // namespace tilescope::store
