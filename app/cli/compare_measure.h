#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::cli {

/// Two programs to run in turn. Each is a spec file of one point (its name ends in .yaml or .yml) or a command line, which a shell need not read: nothing in it is expanded.
struct MeasureRequest {
    std::string a;
    std::string b;
    /// Runs of each, at least 2. None: 5, and for two specs with short runs so many that the timed steps of each side take
    /// 1.5 seconds in total, at most 20: shorter runs differ more from each other.
    std::optional<std::int64_t> repeats = {};
    std::filesystem::path file = {}; ///< the recording to add to; empty: a temporary one
    std::string commandLine = {};    ///< stored with the runs of specs
};

/// The runs that were measured.
struct MeasuredRuns {
    std::filesystem::path file;
    std::vector<RunId> runsA;
    std::vector<RunId> runsB;

    std::string a() const; ///< FILE:1,4,5
    std::string b() const;
};

/// Runs A and B in turn: A B, B A, B A, A B, … so that what changes on the machine affects both. The order of the pairs has
/// no period that a load could have too.
///
/// A command runs with an empty standard input; its standard output goes to `progress`. It is recorded like by
/// `tilescope record`, unless its first run prints lines `step_ms: NUMBER`: these are then its steps.
/// SIGINT, SIGTERM and SIGHUP end the program that runs; the runs so far stay in the file.
/// \return        none if a signal ended it
/// \throws Error  Usage: a spec is missing or has several points, the file is not a recording. Failure: a program failed,
///                or shows no steps
std::optional<MeasuredRuns> measureInTurn(const MeasureRequest& request, std::ostream& progress);

/// Names the file, and the command that compares the runs again.
void sayWhereKept(std::ostream& out, const MeasuredRuns& measured);

} // namespace tilescope::cli
