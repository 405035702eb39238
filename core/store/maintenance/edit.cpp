#include "core/store/maintenance/maintenance.h"

#include "core/base/error.h"
#include "core/base/named_output.h"
#include "core/base/output_file.h"
#include "core/store/file/database.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/run_copier.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/writable_file.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

/// Opens an existing file for changes, lets `work` make them in one transaction, and seals it.
template <class Work> void edit(const fs::path& file, Work&& work)
{
    requireTilescopeFile(file, static_cast<int>(embeddedMigrations().size())); // a writer would create it
    const StringTable noStrings;
    WritableFile target(file, noStrings);
    translating(file, [&] {
        target.begin();
        work(target);
        target.commit();
        target.seal();
    });
}

/// The tables that have rows of a run.
std::vector<std::string> tablesOf(WritableFile& target, RunId run)
{
    std::vector<std::string> tables;
    SQLite::Statement row(target.database(), "select distinct source from chunk where run = ?");
    row.bind(1, run.value);
    while (row.executeStep())
        tables.push_back(row.getColumn(0).getString());
    return tables;
}

void requireRun(WritableFile& target, RunId run)
{
    SQLite::Statement row(target.database(), "select 1 from run where id = ?");
    row.bind(1, run.value);
    if (!row.executeStep())
        throw Error{.what = "no run " + std::to_string(run.value),
                    .where = target.file().string(),
                    .remedy = "see its runs with `tilescope show " + target.file().string() + "`"};
}

void setText(const fs::path& file, RunId run, const char* sql, std::string_view text)
{
    edit(file, [&](WritableFile& target) {
        requireRun(target, run);
        SQLite::Statement update(target.database(), sql);
        update.bind(1, std::string(text));
        update.bind(2, run.value);
        update.exec();
        target.updateRunChecksum(run.value);
    });
}

} // namespace

void setNote(const fs::path& file, RunId run, std::string_view note)
{
    setText(file, run, "update run set note = ? where id = ?", note);
}

void setTag(const fs::path& file, RunId run, std::string_view tag)
{
    setText(file, run, "update run set tag = ? where id = ?", tag);
}

void deleteRuns(const fs::path& file, std::span<const RunId> runs)
{
    std::vector<RunId> numbers(runs.begin(), runs.end());
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    edit(file, [&numbers](WritableFile& target) {
        for (const RunId run : numbers)
            requireRun(target, run);
        for (const RunId run : numbers) {
            for (const std::string& table : tablesOf(target, run)) {
                // The rows of a run are together: its chunks give their ids, so other rows are not read.
                const StatementCache::Handle remove =
                    target.query("delete from " + table + " where " + (table == "run" ? "id" : "run") +
                                 " = ?1 and id between "
                                 "(select min(first) from chunk where run = ?1 and source = ?2) and "
                                 "(select max(last) from chunk where run = ?1 and source = ?2)");
                remove->bind(1, run.value);
                remove->bind(2, table);
                remove->exec();
            }
            target.chunks().removeRun(run.value);
        }
        target.database().exec("update file set edition = edition + 1");
    });
}

bool needsSealing(const fs::path& link)
{
    const fs::path file = withLinksFollowed(link);
    std::error_code error;
    const auto isThere = [&](const char* suffix) { return fs::exists(fs::path(file) += suffix, error); };
    return fs::exists(file, error) && (isThere("-wal") || isThere("-journal") || isThere("-lock")) &&
           !WriterLock::isHeld(file);
}

namespace {

/// Copies what `file`, which `old` has sealed, still has to a new file.
void writeCompact(WritableFile& old, const fs::path& file, const fs::path& fresh)
{
    const StringTable noStrings;
    WritableFile target(fresh, noStrings, NewFile::WhenSealed);
    StoredRows source(file);
    RunCopier copier(source, target);
    std::vector<RunId> runs;
    for (const RunRecord& run : source.use([&source] { return source.runs({}); }))
        runs.push_back(run.run);
    target.begin();
    copier.copyCeilings();
    for (const RunId run : runs)
        copier.copy(run, run.value);
    target.chunks().table("run").reserve(old.chunks().table("run").nextId() - 1);
    target.commit();
    target.seal();
}

} // namespace

CompactOutcome compact(const fs::path& link)
{
    const fs::path file = withLinksFollowed(link);
    requireTilescopeFile(file, static_cast<int>(embeddedMigrations().size()));
    std::error_code error;
    const StringTable noStrings;
    // Held until the new file is in place, so that nobody writes to the old one.
    WritableFile old(file, noStrings);
    fs::path log = file;
    log += "-wal";
    return translating(file, [&] {
        old.seal();
        if (fs::exists(log, error))
            throw Error{.what = lockHolderOf(file) + " has it open",
                        .where = file.string(),
                        .remedy = "close that program"};
        CompactOutcome outcome;
        outcome.before = Bytes{static_cast<std::int64_t>(fs::file_size(file))};
        const TemporaryPath folder(file, TemporaryPath::Kind::Folder);
        const fs::path fresh = folder.path() / "compact";
        namingOutput(fresh, file, [&] { writeCompact(old, file, fresh); });
        outcome.after = Bytes{static_cast<std::int64_t>(fs::file_size(fresh))};
        moveIntoPlace(fresh, file);
        return outcome;
    });
}

} // namespace tilescope::store
