#pragma once

#include "app/cli/recording.h"
#include "core/base/ids.h"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

/// A run of a file: `a.tscope:3`.
struct RunAddress {
    std::filesystem::path named;   ///< the file as the user wrote it
    Recording recording;           ///< of that file
    std::optional<RunId> run = {}; ///< none: the file's only point
    std::vector<RunId> runs = {};  ///< several runs, of `a.tscope:1,4,5`; otherwise empty

    /// The recording and the files that it was imported from: no output may replace them.
    std::vector<std::filesystem::path> inputs() const;
};

/// Parses FILE or FILE:RUN. An existing file takes precedence, whatever colons its name contains. Imports files of
/// other programs into the cache; see recordingOf().
/// \throws Error  there is no such file, or the text after the colon is not a run number
RunAddress runAddressOf(std::string_view text);
/// The same, or FILE:RUN,RUN…
RunAddress runsAddressOf(std::string_view text);

struct CompareRequest {
    std::string a;
    std::string b;
    std::string format = "table";   ///< table, json or md
    std::string runToRun = {};      ///< `0.3%` or 0.003; empty: from the repeats
    std::string gate = {};          ///< `3%` or 0.03: the slowdown that is allowed; empty: any
    std::string limit = "30";       ///< rows of each table of kernels, families and ranges; 0: all
    std::string memoryBy = "range"; ///< category, op, module, range or size
    std::string at = "auto";        ///< peak, end, or auto: the end of snapshots, the peak of runs
    std::string from = {};          ///< ns after each run's first event, or `A,B`; empty: no time span
    std::string to = {};            ///< the same: where the time span ends
    bool single = false;            ///< a named run is compared without the repeats of its point
    bool allSteps = false;          ///< means of recordings are of all steps
    std::string rank = {};          ///< whose step the causes are about; empty: the lowest
};

/// Prints run B compared with run A.
/// \return  the exit code: 0, or with a gate also 1 (exceeded) or 5 (undecided)
/// \throws Error  Usage: an invalid file, run or number
int compare(const CompareRequest& request, std::ostream& out);

/// The slowdown that --gate allows, or a deviation: `0.3%` or 0.003.
/// \throws Error  Usage: it is no number from 0 to 1
double fractionOf(std::string_view text, std::string_view where);

} // namespace tilescope::cli
