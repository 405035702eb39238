#include "core/store/file/database.h"

#include "core/base/terminal_text.h"
#include "core/store/file/file_check.h"

#include <sqlite3.h>
#include <sys/resource.h>

#include <cstdio>

namespace tilescope::store {

namespace {

/// SQLite's description of the exception's code. Its message may belong to a later, successful call.
std::string wordsOf(const SQLite::Exception& exception)
{
    const std::string said = exception.what();
    return said == "not an error" ? sqlite3_errstr(exception.getErrorCode()) : said;
}

/// Whether this process has a limit on file sizes (`ulimit -f`). SQLite does not report why a write failed.
bool fileSizeIsLimited()
{
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Whether SQLite failed while it made a file larger: the database, its log or the log's index (-shm).
bool growsAFile(int extendedCode)
{
    return extendedCode == SQLITE_IOERR_WRITE || extendedCode == SQLITE_IOERR_SHMSIZE ||
           extendedCode == SQLITE_IOERR_TRUNCATE;
}

} // namespace

Error translated(const SQLite::Exception& exception, const std::filesystem::path& file)
{
    const std::string where = file.string();
    // The low byte is the error, the others give its place in SQLite.
    switch (exception.getErrorCode() & 0xff) {
    case SQLITE_NOTADB:
        return {.what = "not a Tilescope file", .where = where, .remedy = remedyForWrongFile(file)};
    case SQLITE_CORRUPT:
        return {.what = "the file is damaged",
                .where = where,
                .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
    case SQLITE_FULL:
        return {.what = "the disk is full; what was committed is safe",
                .where = where,
                .remedy = "free some space",
                .kind = ErrorKind::Failure};
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return {.what = "cannot be written",
                .where = where,
                .remedy = "choose a file and a folder that you may write"};
    case SQLITE_CANTOPEN:
        return {.what = "cannot be opened",
                .where = where,
                .remedy = "check that file and folder exist and that you may use them"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {.what = "another program has locked the file",
                .where = where,
                .remedy = "close what uses it and try again",
                .kind = ErrorKind::Failure};
    case SQLITE_IOERR:
        if (growsAFile(exception.getExtendedErrorCode()) && fileSizeIsLimited())
            return {
                .what =
                    "cannot be written: the limit of a file's size is reached; what was committed is safe",
                .where = where,
                .remedy = "raise the limit (ulimit -f) and try again",
                .kind = ErrorKind::Failure};
        return {.what = "the disk failed: " + wordsOf(exception),
                .where = where,
                .remedy = "check the disk and the file's folder",
                .kind = ErrorKind::Failure};
    default:
        return {.what = "SQLite failed: " + wordsOf(exception), .where = where, .kind = ErrorKind::Failure};
    }
}

void warn(const std::string& sentence) noexcept
{
    std::fprintf(stderr, "tilescope: %s\n", escapeForTerminal(sentence).c_str());
}

void check(sqlite3* database, int code)
{
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        throw SQLite::Exception(database, code);
}

void harden(SQLite::Database& database)
{
    sqlite3* handle = database.getHandle();
    check(handle, sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr));
    check(handle, sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr));
    check(handle, sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr));
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    database.exec("pragma cell_size_check = on");
}

std::int64_t integerOf(SQLite::Database& database, const char* sql)
{
    SQLite::Statement query(database, sql);
    return integerOf(query);
}

std::int64_t integerOf(SQLite::Statement& query)
{
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

} // namespace tilescope::store
