#pragma once

#include "core/base/error.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <utility>

namespace tilescope::store {

/// The reason of a run whose status is interrupted because its process ended without a word.
inline constexpr const char* kWriterDied = "its writer died";

/// SQLite's complaint as a sentence: what it means for the user, about `file`.
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

/// Tells the user what a destructor could not throw; on standard error, as standard output may carry JSON.
void warn(const std::string& sentence) noexcept;

/// Throws SQLite's last error on `database` unless `code` is one of success.
void check(sqlite3* database, int code);

/// Settings of every connection to a file that may come from anywhere: its schema may call no function that
/// has side effects, its internals may not be written, cells are checked as they are read.
void harden(SQLite::Database& database);

/// An integer that a query of one row and one column gives.
std::int64_t integerOf(SQLite::Database& database, const char* sql);
std::int64_t integerOf(SQLite::Statement& query);

} // namespace tilescope::store
