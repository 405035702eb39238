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

namespace tilescope::store {

// What people do to .tscope files besides recording and reading. Each function takes the writer lock of the
// file that it changes and is refused while a writer is at work. \throws Error

/// What verify() found.
struct VerifyReport {
    std::int64_t runs = 0;
    std::int64_t rows = 0; ///< that were read and added up
    /// One sentence for each thing that is wrong, at most a hundred; empty: all is as it was written.
    std::vector<std::string> problems;

    bool ok() const { return problems.empty(); }
};

/// Reads every row of a file: SQLite's own structures, the number of rows of each table, the checksum of each
/// chunk. Changes nothing.
/// \throws Error  where the file cannot be opened as ours at all
VerifyReport verify(const std::filesystem::path& file);

struct MergeOutcome {
    std::int64_t added = 0;   ///< runs copied
    std::int64_t present = 0; ///< runs that the target had already
};

/// Copies all runs of `sources` that `target` lacks into it; creates it where it does not exist.
///
/// Runs keep their uid and get the next numbers: in the order of their sweep's points where all have one,
/// else in the order of the sources. Doing it again changes nothing. Each run is copied in one transaction,
/// row by row; memory does not grow with the files.
/// \throws Error  before anything is written: a source is the target, a source is being written, or a run of
///                the same uid is not the same
MergeOutcome merge(std::span<const std::filesystem::path> sources, const std::filesystem::path& target);

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

/// Copies what is committed in a file, whose writer may be at work, to `copy`: one plain file, in place of
/// what stood there.
void snapshot(const std::filesystem::path& file, const std::filesystem::path& copy);

/// Whether the last writer of a file died, or was hindered, before it made it one plain file; false where
/// somebody writes it, or where there is none.
bool needsSealing(const std::filesystem::path& file);

void setNote(const std::filesystem::path& file, RunId run, std::string_view note);
void setTag(const std::filesystem::path& file, RunId run, std::string_view tag);

} // namespace tilescope::store
