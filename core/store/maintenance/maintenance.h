#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace SQLite {
class Database;
}

namespace tilescope::store {

// Operations on .tscope files other than recording and reading. Each function takes the writer lock of the
// file that it changes, and fails if the file has a writer.
// \throws Error

/// The result of verify().
struct VerifyReport {
    std::int64_t runs = 0;
    std::int64_t rows = 0; ///< that were read
    /// false: a file of an earlier version, whose checksums are no longer read; its rows were counted
    bool hasChecksums = true;
    /// one sentence per problem, at most a hundred; empty: the file is intact
    std::vector<std::string> problems;

    bool ok() const { return problems.empty(); }
};

/// Reads every row of a file: checks SQLite's structures, and the number of rows and the checksum of each chunk.
/// Changes nothing.
/// \throws Error  the file cannot be opened as a Tilescope file
VerifyReport verify(const std::filesystem::path& file);
/// The same for the tables of an open database, whatever tables they are.
/// \param version  of its schema
void verifyTables(SQLite::Database& database, int version, VerifyReport& report);

struct MergeOutcome {
    std::int64_t added = 0;   ///< runs copied
    std::int64_t present = 0; ///< number of runs that the target already had
};

/// The numbers of runs that are added to a file.
enum class RunNumbers : std::uint8_t {
    Next,     ///< of runs that are new to the file
    OfSources ///< of runs that were deleted from it: their old ones, unless another run has them
};

/// Which runs of the sources are copied.
enum class MergedRuns : std::uint8_t {
    All,  ///< one whose writer died becomes interrupted
    Ended ///< without those that are not ended: their writer may go on elsewhere
};

/// Copies all runs of `sources` that `target` lacks into it; creates it if it does not exist.
///
/// Runs keep their uid and get the next numbers: in the order of their sweep's points if all have one,
/// otherwise in the order of the sources. Repeating it changes nothing. All is copied in one transaction, row by
/// row: the target gets everything or, after any failure, nothing. Memory does not grow with the files.
/// \throws Error  before anything is written: a source is the target or has a writer, or two runs with the
///                same uid differ
MergeOutcome merge(std::span<const std::filesystem::path> sources, const std::filesystem::path& target,
                   RunNumbers numbers = RunNumbers::Next, MergedRuns which = MergedRuns::All);

/// Removes runs with all their rows, in one transaction; their numbers are not used again. A run that is
/// named twice is removed once. The file keeps its size until compact().
/// \throws Error  before anything is removed: the file has no such run
void deleteRuns(const std::filesystem::path& file, std::span<const RunId> runs);

struct CompactOutcome {
    Bytes before;
    Bytes after;
};

/// Writes the file anew without the space and the texts that nothing uses any more, and puts it in the old
/// one's place in one move. Run numbers, uids, notes and tags stay.
CompactOutcome compact(const std::filesystem::path& file);

/// Copies the committed data of a file, which may have a writer, to `copy`: one plain file that replaces an
/// existing one.
void snapshot(const std::filesystem::path& file, const std::filesystem::path& copy);

/// Whether the last writer of a file died or failed before it sealed it; false if the file has a writer or
/// does not exist.
bool needsSealing(const std::filesystem::path& file);

void setNote(const std::filesystem::path& file, RunId run, std::string_view note);
void setTag(const std::filesystem::path& file, RunId run, std::string_view tag);

} // namespace tilescope::store
