#pragma once

#include "core/base/output_file.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace SQLite {
class Database;
}

namespace tilescope::store {

/// "TSCP": how `file` and we know a .tscope file from other SQLite databases.
inline constexpr int kApplicationId = kRecordingId;

/// One step of the schema's history: `upgrade` converts a file of the previous version to this one.
///
/// `reading` lets this program's queries run on a file of the previous version without writing to it: TEMP
/// views replace the file's tables of the same name and add what is missing.
struct Migration {
    std::string_view upgrade;
    std::string_view reading = {};
};

/// The schema's history in this program; element 0 makes version 1. The last element's version is what new
/// files get.
std::span<const Migration> embeddedMigrations();

/// Creates the schema in an empty database, or upgrades an older one, in one transaction.
/// \param finish  what remains to be done in it, if anything
void migrate(SQLite::Database& database, int fromVersion, std::span<const Migration> migrations,
             void (*finish)(SQLite::Database&) = nullptr);

/// Lets queries of the newest version run on a read-only connection to an older file.
void prepareForReading(SQLite::Database& database, int fileVersion, std::span<const Migration> migrations);

/// SHA-256 of the database's tables, views, indexes and triggers: their types, names and SQL.
std::string schemaDigest(SQLite::Database& database);

/// The digest of the schema that embeddedMigrations() create. A file that has it needs no other comparison; creating
/// the schema to compare with takes longer than most queries. If it does not match, files open as slowly as older ones.
inline constexpr std::string_view kSchemaDigest =
    "d44ee05a5cdfa3d6e5ed68990c138329ff4ccc23c6b8d5e784f333989d325b7a";

/// Compares the database's tables, views, indexes and triggers with those of `version`.
/// \throws Error  naming the first that is missing, unknown or different
void requireOurSchema(SQLite::Database& database, const std::filesystem::path& file, int version,
                      std::span<const Migration> migrations);

} // namespace tilescope::store
