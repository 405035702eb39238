#include "core/store/maintenance/maintenance.h"

#include "core/base/error.h"
#include "core/store/file/database.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"

#include <sqlite3.h>

#include <memory>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

void copyPages(SQLite::Database& from, SQLite::Database& to)
{
    const std::unique_ptr<sqlite3_backup, int (*)(sqlite3_backup*)> backup(
        sqlite3_backup_init(to.getHandle(), "main", from.getHandle(), "main"), &sqlite3_backup_finish);
    if (!backup)
        throw SQLite::Exception(to.getHandle());
    // All pages at once, so that later commits belong to the next snapshot.
    constexpr int kAllPages = -1;
    if (const int code = sqlite3_backup_step(backup.get(), kAllPages); code != SQLITE_DONE)
        throw SQLite::Exception(to.getHandle(), code);
}

} // namespace

void snapshot(const fs::path& file, const fs::path& copy)
{
    const FileHeader header = translating(
        file, [&] { return requireTilescopeFile(file, static_cast<int>(embeddedMigrations().size())); });
    translating(copy, [&] {
        fs::remove(copy);
        const auto from = openForReading(file, header);
        SQLite::Database to(copy.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        // The copy is private until it is complete; the caller syncs it.
        to.exec("pragma journal_mode = off; pragma synchronous = off");
        copyPages(*from, to);
        // The pages say that there is a log; the copy has none.
        to.exec("pragma journal_mode = delete");
    });
}

} // namespace tilescope::store
