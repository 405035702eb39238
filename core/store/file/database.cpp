#include "core/store/file/database.h"

#include "core/base/output_file.h"
#include "core/base/terminal_text.h"
#include "core/store/file/file_check.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

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

std::string nameOfProcess(long pid)
{
    std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(in, name);
    return name;
}

/// Whether a process has one of the files open; none if that cannot be known.
std::optional<bool> hasOpen(long pid, std::span<const std::filesystem::path> files)
{
    std::error_code error;
    const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        for (const std::filesystem::path& file : files)
            if (std::filesystem::equivalent(entry->path(), file, ignored))
                return true;
    }
    return error ? std::nullopt : std::optional(false);
}

} // namespace

std::string lockHolderOf(const std::filesystem::path& file)
{
    const std::filesystem::path target = withLinksFollowed(file);
    const std::array<std::filesystem::path, 2> files{target, std::filesystem::path(target) += "-shm"};
    std::vector<std::uint64_t> nodes;
    for (const std::filesystem::path& path : files)
        if (struct stat status{}; stat(path.c_str(), &status) == 0)
            nodes.push_back(status.st_ino);
    // 1: POSIX  ADVISORY  WRITE 77 08:01:1234 0 EOF. The device is not that of stat() on every filesystem, so the
    // process must also have the file open.
    std::ifstream locks("/proc/locks");
    bool isThisOne = false;
    for (std::string line; std::getline(locks, line);) {
        long pid = 0;
        std::uint64_t node = 0;
        if (std::sscanf(line.c_str(), "%*d: POSIX %*s %*s %ld %*x:%*x:%" SCNu64, &pid, &node) != 2 ||
            pid <= 0 || std::ranges::find(nodes, node) == nodes.end() || !hasOpen(pid, files).value_or(true))
            continue;
        // Most often this process has locks of its own as well.
        isThisOne = isThisOne || pid == getpid();
        if (pid == getpid())
            continue;
        const std::string name = nameOfProcess(pid);
        return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
    }
    return isThisOne ? "this program" : "another program";
}

Error translated(const SQLite::Exception& exception, const std::filesystem::path& file)
{
    const std::string where = file.string();
    std::error_code ignored;
    const std::string kept = std::filesystem::exists(file, ignored) ? "; what was committed is safe" : "";
    // The low byte is the error, the others give its place in SQLite.
    switch (exception.getErrorCode() & 0xff) {
    case SQLITE_NOTADB:
        return {.what = "not a Tilescope file", .where = where, .remedy = remedyForWrongFile(file)};
    case SQLITE_CORRUPT:
        return {.what = "the file is damaged",
                .where = where,
                .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
    case SQLITE_FULL:
        return {.what = "the disk is full" + kept,
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
        return {.what = lockHolderOf(file) + " has locked the file",
                .where = where,
                .remedy = "close what uses it and try again",
                .kind = ErrorKind::Failure};
    case SQLITE_IOERR:
        if (growsAFile(exception.getExtendedErrorCode()) && fileSizeIsLimited())
            return {.what = "cannot be written: the limit of a file's size is reached" + kept,
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
