#include "core/store/file/schema.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/sha256.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <map>
#include <string>

namespace tilescope::store {

namespace {

// A schema file holds its upgrade and, after this line, what readers of older files need.
constexpr std::string_view kReadingMark = "-- reading older files:";

constexpr std::string_view kEmbedded[] = {
#include "embedded_schema.inc"
};

Migration split(std::string_view text)
{
    const auto mark = text.find(kReadingMark);
    if (mark == std::string_view::npos)
        return {.upgrade = text};
    return {.upgrade = text.substr(0, mark), .reading = text.substr(mark)};
}

/// type and name of everything in a schema, with its SQL.
using Objects = std::map<std::string, std::string>;

Objects schemaOf(SQLite::Database& database)
{
    Objects objects;
    SQLite::Statement rows(database,
                           "select type || ' ' || name, coalesce(sql, ''), name from main.sqlite_schema");
    while (rows.executeStep()) {
        const std::string name = rows.getColumn(2).getString();
        // Objects that SQLite creates itself: indexes of unique columns, statistics of ANALYZE.
        if (!name.starts_with("sqlite_"))
            objects.emplace(rows.getColumn(0).getString(), rows.getColumn(1).getString());
    }
    return objects;
}

std::string sha256Of(const Objects& objects)
{
    Sha256 hash;
    for (const auto& [name, sql] : objects)
        for (const std::string& text : {name, sql})
            hash.add(std::to_string(text.size()) + ' ' + text);
    return hash.digest();
}

/// The schema that the upgrades create in an empty file. Cached, because creating it dominates the time to
/// open a file.
const Objects& schemaMadeBy(std::span<const Migration> upgrades)
{
    static Mutex mutex;
    static std::map<std::string, Objects> known; // by the text of the upgrades
    std::string text;
    for (const Migration& migration : upgrades)
        text += migration.upgrade;
    const MutexLock lock(mutex);
    const auto [schema, isNew] = known.try_emplace(std::move(text));
    if (isNew) {
        SQLite::Database model(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        migrate(model, 0, upgrades);
        schema->second = schemaOf(model);
    }
    return schema->second;
}

Error foreignSchema(const std::filesystem::path& file, std::string what)
{
    return Error{.what = "not a Tilescope schema: " + std::move(what),
                 .where = file.string(),
                 .remedy = "open it with sqlite3 if you trust it, or run the experiment again"};
}

} // namespace

std::span<const Migration> embeddedMigrations()
{
    static const auto migrations = [] {
        std::array<Migration, std::size(kEmbedded)> result;
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = split(kEmbedded[i]);
        return result;
    }();
    return migrations;
}

void migrate(SQLite::Database& database, int fromVersion, std::span<const Migration> migrations,
             void (*finish)(SQLite::Database&))
{
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    for (std::size_t i = static_cast<std::size_t>(fromVersion); i < migrations.size(); ++i)
        database.exec(std::string(migrations[i].upgrade));
    if (finish)
        finish(database);
    database.exec("pragma application_id = " + std::to_string(kApplicationId));
    database.exec("pragma user_version = " + std::to_string(migrations.size()));
    transaction.commit();
}

void prepareForReading(SQLite::Database& database, int fileVersion, std::span<const Migration> migrations)
{
    for (std::size_t i = static_cast<std::size_t>(fileVersion); i < migrations.size(); ++i)
        if (!migrations[i].reading.empty())
            database.exec(std::string(migrations[i].reading));
}

std::string schemaDigest(SQLite::Database& database)
{
    return sha256Of(schemaOf(database));
}

void requireOurSchema(SQLite::Database& database, const std::filesystem::path& file, int version,
                      std::span<const Migration> migrations)
{
    const Objects found = schemaOf(database);
    const auto newest = embeddedMigrations();
    if (migrations.data() == newest.data() && version == std::ssize(newest) &&
        sha256Of(found) == kSchemaDigest)
        return;
    const Objects& expected = schemaMadeBy(migrations.first(static_cast<std::size_t>(version)));
    for (const auto& [name, sql] : found) {
        const auto ours = expected.find(name);
        if (ours == expected.end())
            throw foreignSchema(file, "unknown " + name);
        if (ours->second != sql)
            throw foreignSchema(file, name + " differs from Tilescope's");
    }
    for (const auto& [name, sql] : expected)
        if (!found.contains(name))
            throw foreignSchema(file, name + " is missing");
}

} // namespace tilescope::store
