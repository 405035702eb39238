#include "core/store/rows/read_connection.h"

#include "core/base/output_file.h"
#include "core/base/plural.h"
#include "core/store/file/schema.h"
#include "core/store/file/writer_lock.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>

namespace tilescope::store {

namespace {

/// Tables of fewer rows than these are counted when a file is opened; larger ones are measured by their
/// highest id, and each chunk by its rows when it is read.
constexpr std::int64_t kCountedRows = 100'000;

Error missingRows(const std::filesystem::path& file, std::string_view table, std::int64_t expected,
                  std::int64_t found)
{
    return Error{.what = "the file is damaged: its table " + std::string(table) + " should hold " +
                         counted(expected, "row") + " and holds " + std::to_string(found),
                 .where = file.string(),
                 .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
}

std::string selectSql(const EventTable& table)
{
    std::string sql = "select ";
    for (const std::string_view column : table.columns)
        sql.append(column == "id" ? "" : ", ").append(column);
    return sql.append(" from ").append(table.name).append(" where id between ?1 and ?2");
}

} // namespace

CachedStatement::~CachedStatement()
{
    sqlite3_reset(statement_);
    idle_->push_back(statement_);
}

ReadConnection::ReadConnection(std::filesystem::path file) : file_(std::move(file))
{
    // The first use checks everything, so that problems are reported now.
    translating(file_, [this] { const Use use(*this); });
}

ReadConnection::~ReadConnection()
{
    close();
}

std::optional<ReadConnection::Identity> ReadConnection::identityOf(const std::filesystem::path& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0)
        return {};
    return Identity{status.st_dev, status.st_ino};
}

ReadConnection::Identity ReadConnection::identity() const
{
    if (const auto found = identityOf(file_))
        return *found;
    throw Error{.what = std::string("cannot be opened (") + std::strerror(errno) + ")",
                .where = file_.string(),
                .remedy = "check the path"};
}

std::optional<ReadConnection::Identity> ReadConnection::logIdentity() const
{
    std::filesystem::path log = withLinksFollowed(file_);
    log += "-wal";
    return identityOf(log);
}

void ReadConnection::open()
{
    const auto migrations = embeddedMigrations();
    header_ = requireTilescopeFile(file_, static_cast<int>(migrations.size()));
    // Ids of texts stay valid while this file lives, not in another that took its place.
    if (!checked_)
        identity_ = identity();
    else if (identity() != identity_)
        throw Error{.what = "was replaced by another file meanwhile",
                    .where = file_.string(),
                    .remedy = "open it again"};
    database_ = openForReading(file_, header_);
    database_->exec("begin");
    const std::int64_t schemaVersion = integerOf(*database_, "pragma schema_version");
    if (!checked_ || schemaVersion != schemaVersion_)
        requireOurSchema(*database_, file_, header_.version, migrations);
    schemaVersion_ = schemaVersion;
    prepareForReading(*database_, header_.version, migrations);
    if (!checked_)
        requireCounts();
    if (header_.isWal)
        log_ = logIdentity();
    database_->exec("commit");
    checked_ = true;
    ++generation_;
}

void ReadConnection::close() noexcept
{
    for (auto& idle : idleStatements_) {
        for (sqlite3_stmt* statement : idle)
            sqlite3_finalize(statement);
        idle.clear();
    }
    statements_.clear();
    database_.reset();
}

void ReadConnection::enter()
{
    if (depth_ == 0) {
        try {
            if (database_ && header_.isWal && logIdentity() != log_)
                close();
            if (!database_)
                open();
            database_->exec("begin");
            // A transaction begins with the first reading.
            const std::int64_t version = integerOf(*query("pragma data_version"));
            if (version != dataVersion_) {
                dataVersion_ = version;
                ++generation_;
            }
        } catch (...) {
            close();
            throw;
        }
    }
    ++depth_;
}

void ReadConnection::leave() noexcept
{
    if (--depth_ > 0)
        return;
    if (database_->tryExec("commit") != SQLITE_OK)
        close();
    else if (header_.isWal && WriterLock::isHeld(file_))
        close();
}

/// Rejects a file whose tables are shorter than its chunks state.
void ReadConnection::requireCounts()
{
    struct Account {
        std::int64_t rows = 0;
        std::int64_t last = 0;
    };
    std::map<std::string, Account> accounts;
    for (std::string& table : tablesInChunks(*database_, header_.version))
        accounts[std::move(table)];
    SQLite::Statement chunks(*database_, "select source, sum(rows), max(last) from chunk group by source");
    while (chunks.executeStep()) {
        const auto account = accounts.find(chunks.getColumn(0).getString());
        if (account == accounts.end())
            throw Error{.what = "the file is damaged: it counts rows of an unknown table",
                        .where = file_.string(),
                        .remedy = "use a copy of it"};
        account->second = {chunks.getColumn(1).getInt64(), chunks.getColumn(2).getInt64()};
    }
    for (const auto& [table, account] : accounts) {
        if (account.rows < kCountedRows) {
            // Counts in the table itself: an index may be intact when its table is not.
            const std::int64_t found =
                integerOf(*database_, ("select count(*) from " + table + " not indexed").c_str());
            if (found != account.rows)
                throw missingRows(file_, table, account.rows, found);
        } else if (const std::int64_t highest =
                       integerOf(*database_, ("select max(id) from " + table).c_str());
                   highest < account.rows || (hasChecksums() && highest != account.last)) {
            throw missingRows(file_, table, account.rows, highest);
        }
    }
}

CachedStatement ReadConnection::eventQuery(EventKind kind)
{
    auto& idle = idleStatements_[static_cast<std::size_t>(kind)];
    if (!idle.empty()) {
        sqlite3_stmt* statement = idle.back();
        idle.pop_back();
        return {statement, idle};
    }
    const std::string sql = selectSql(eventTable(kind));
    sqlite3_stmt* statement = nullptr;
    check(database_->getHandle(),
          sqlite3_prepare_v2(database_->getHandle(), sql.c_str(), -1, &statement, nullptr));
    return {statement, idle};
}

} // namespace tilescope::store
