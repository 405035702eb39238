#pragma once

#include "core/base/error.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <utility>

namespace tilescope::store {

/// The reason of an interrupted run whose process ended without giving one.
inline constexpr const char* kWriterKilled = "the writing process was killed";

/// Converts an SQLite error to a sentence for the user about `file`.
Error translated(const SQLite::Exception& exception, const std::filesystem::path& file);

/// Runs `work`; an exception of SQLite's leaves it as our Error.
template <class Work> decltype(auto) translating(const std::filesystem::path& file, Work&& work)
{
    try {
        return std::forward<Work>(work)();
    } catch (const SQLite::Exception& exception) {
        throw translated(exception, file);
    }
}

/// Who holds a lock on the file or on the index of its log, from the kernel's list: `process 77 (python)`. Names no process
/// if the list does not tell.
std::string lockHolderOf(const std::filesystem::path& file);

/// Reports an error that a destructor cannot throw. On standard error, because standard output may carry
/// JSON.
void warn(const std::string& sentence) noexcept;

/// Throws SQLite's last error on `database` unless `code` is one of success.
void check(sqlite3* database, int code);

/// Settings of every connection to an untrusted file: its schema may call no function with side effects, its
/// internals are read-only, and cells are checked when read.
void harden(SQLite::Database& database);

/// An integer that a query of one row and one column gives.
std::int64_t integerOf(SQLite::Database& database, const char* sql);
std::int64_t integerOf(SQLite::Statement& query);

} // namespace tilescope::store
