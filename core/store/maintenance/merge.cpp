#include "core/store/maintenance/maintenance.h"

#include "core/base/error.h"
#include "core/store/file/database.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/run_copier.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/writable_file.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

/// Columns of `run` that differ between files without the run being another one.
constexpr std::string_view kOwnColumns[] = {"id",  "first_range", "first_op", "note",
                                            "tag", "status",      "reason"};

/// A run that a source has.
struct Candidate {
    StoredRows* source = nullptr;
    RunId run;
    std::string uid;
    std::string name;
    std::optional<std::int64_t> point;
    std::uint64_t fingerprint = 0;
    bool hasEnded = true; ///< false: it is written, or its writer died
};

/// What stays the same when a run is copied: all that is known of it, and how many rows of each table it has
/// over what time. What is made from the events when a run is sealed does not count: an older file lacks it.
std::uint64_t fingerprintOf(StoredRows& file, SQLite::Statement& row, std::span<const int> columns)
{
    RowDigest digest;
    for (const int column : columns)
        addColumn(row.getColumn(column), digest);
    // The run of a dead writer becomes interrupted when the file is next opened for writing.
    const std::string status = text(row, "status");
    digest.add(std::string_view(status == "running" ? "interrupted" : status));
    digest.add(std::string_view(status == "running" ? kWriterKilled : text(row, "reason")));
    const StatementCache::Handle rows =
        file.connection.query("select source, sum(rows), min(start), max(end) from chunk where run = ? "
                              "group by source order by source");
    rows->bind(1, row.getColumn("id").getInt64());
    while (rows->executeStep())
        if (!isDerived(rows->getColumn(0).getString()))
            for (int i = 0; i < 4; ++i)
                addColumn(rows->getColumn(i), digest);
    return digest.value();
}

std::vector<Candidate> runsOf(StoredRows& file)
{
    return file.use([&file] {
        std::vector<Candidate> runs;
        SQLite::Statement row(file.database(), "select * from run order by id");
        std::vector<int> columns;
        for (int i = 0; i < row.getColumnCount(); ++i)
            if (std::ranges::find(kOwnColumns, std::string_view(row.getColumnName(i))) ==
                std::end(kOwnColumns))
                columns.push_back(i);
        while (row.executeStep())
            runs.push_back({&file, RunId{row.getColumn("id").getInt64()}, text(row, "uid"), text(row, "name"),
                            integer(row, "point"), fingerprintOf(file, row, columns),
                            text(row, "status") != "running"});
        return runs;
    });
}

Error disagreement(const Candidate& run, const fs::path& other)
{
    return Error{.what = "run " + std::to_string(run.run.value) + " (" + run.uid +
                         ") is not the same as in " + other.string(),
                 .where = run.source->file().string(),
                 .remedy =
                     "one of the two was changed: merge without it, or delete that run from one of them"};
}

/// Runs of one sweep that is split over several files are in the order of its points; sweeps are in the order
/// of the sources.
void order(std::vector<Candidate>& runs)
{
    if (!std::ranges::all_of(runs, [](const Candidate& run) { return run.point.has_value(); }))
        return;
    std::map<std::string, std::size_t> sweeps; // name -> when it was first seen
    for (const Candidate& run : runs)
        sweeps.try_emplace(run.name, sweeps.size());
    std::ranges::stable_sort(
        runs, {}, [&sweeps](const Candidate& run) { return std::pair(sweeps.at(run.name), *run.point); });
}

/// Selects the runs of the sources to copy into a target that has `present`; counts those that it already
/// has.
std::vector<Candidate> missingFrom(std::vector<Candidate> present, const std::vector<Candidate>& offered,
                                   MergeOutcome& outcome)
{
    std::unordered_map<std::string, Candidate> known;
    for (Candidate& run : present)
        known.emplace(run.uid, std::move(run));
    outcome = {};
    std::vector<Candidate> missing;
    for (const Candidate& run : offered) {
        const auto [place, isNew] = known.try_emplace(run.uid, run);
        if (!isNew && place->second.fingerprint != run.fingerprint)
            throw disagreement(run, place->second.source->file());
        if (isNew)
            missing.push_back(run);
        else
            ++outcome.present;
    }
    order(missing);
    return missing;
}

/// The runs of a file that may not exist yet.
std::vector<Candidate> runsIn(const fs::path& file, std::unique_ptr<StoredRows>& rows)
{
    std::error_code error;
    if (!fs::exists(file, error))
        return {};
    rows = translating(file, [&file] { return std::make_unique<StoredRows>(file); });
    return runsOf(*rows);
}

} // namespace

MergeOutcome merge(std::span<const fs::path> sources, const fs::path& target, RunNumbers numbers,
                   MergedRuns which)
{
    std::error_code error;
    std::vector<std::unique_ptr<StoredRows>> files;
    for (const fs::path& source : sources) {
        if (fs::equivalent(source, target, error))
            throw Error{.what = "is the target, too",
                        .where = source.string(),
                        .remedy = "leave it out: its runs stay in the target anyway"};
        if (WriterLock::isHeld(source))
            throw Error{.what = "is being written",
                        .where = source.string(),
                        .remedy = "merge it when its run has ended"};
        files.push_back(translating(source, [&source] { return std::make_unique<StoredRows>(source); }));
    }
    std::vector<Candidate> offered;
    for (const auto& source : files)
        for (Candidate& run : runsOf(*source))
            if (which == MergedRuns::All || run.hasEnded)
                offered.push_back(std::move(run));
    MergeOutcome outcome;
    std::unique_ptr<StoredRows> present;
    // Asked once before the target is touched, so that a refusal leaves no trace, and again with its lock
    // held.
    missingFrom(runsIn(target, present), offered, outcome);
    const StringTable noStrings;
    WritableFile output(target, noStrings, NewFile::WhenSealed);
    std::vector<Candidate> there = runsIn(target, present);
    std::set<RunId> taken;
    for (const Candidate& run : there)
        taken.insert(run.run);
    const std::vector<Candidate> missing = missingFrom(std::move(there), offered, outcome);
    std::unordered_map<StoredRows*, RunCopier> copiers;
    // One snapshot of each source, rather than one for each run.
    std::deque<ReadConnection::Use> snapshots;
    for (const auto& source : files)
        translating(source->file(), [&] { snapshots.emplace_back(source->connection); });
    // One transaction: a failure, also of this process, leaves the target as it was.
    translating(target, [&output] { output.begin(); });
    for (const Candidate& run : missing) {
        const bool keepsNumber = numbers == RunNumbers::OfSources && taken.insert(run.run).second;
        copiers.try_emplace(run.source, *run.source, output)
            .first->second.copy(run.run, keepsNumber ? std::optional(run.run.value) : std::nullopt);
        ++outcome.added;
    }
    for (const auto& source : files)
        copiers.try_emplace(source.get(), *source, output).first->second.copyCeilings();
    translating(target, [&output] {
        output.commit();
        output.seal();
    });
    return outcome;
}

} // namespace tilescope::store
