#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

// Snapshots of a file for show and for the window: plain values that refer to nothing else, made in one call
// and never changed after. Each call reads through the reader it is given, on the caller's thread.

/// One measured phase of a run; `Phase::Step` is the whole.
struct PhaseTimes {
    Phase phase = Phase::Step;
    std::optional<analysis::Statistics> wallMs = {}; ///< timed steps only
    std::optional<analysis::Statistics> gpuMs = {};  ///< none on a CPU
};

struct RunRow {
    store::RunRecord record = {};
    std::vector<PhaseTimes> phases = {}; ///< in the order of a step, those measured
    std::vector<double> warmupMs = {};   ///< wall of each warm-up step

    /// The step's wall; none where no step was timed.
    const std::optional<analysis::Statistics>& stepMs() const;
};

struct RunsTable {
    std::vector<RunRow> rows = {};
};

/// All runs of the file, or one.
/// \throws Error  a run that is not there; names those that are
RunsTable runs(const store::RunReader& reader, std::optional<RunId> run = {});

/// The runs whose numbers lie from `first` to `last`, both included, in their order.
std::vector<RunRow> runs(const store::RunReader& reader, RunId first, RunId last);

/// What was measured of runs that were read already, in their order.
std::vector<RunRow> runRows(const store::RunReader& reader, std::vector<store::RunRecord> records);

/// `1 to 4, 7`: numbers of runs in ascending order, for a sentence.
std::string listOf(const std::vector<RunId>& runs);

struct SampleRow {
    RunId run = {};
    Sample sample = {};
};

struct SamplesTable {
    std::vector<SampleRow> rows = {};
};

/// Every sample, warm-up and traced steps too.
/// \throws Error  as runs()
SamplesTable samples(const store::RunReader& reader, std::optional<RunId> run = {});

struct LossRow {
    RunId run = {};
    store::RunReader::LossRecord loss = {};
};

struct LossesTable {
    std::vector<LossRow> rows = {};
    std::int64_t recordsChecked = 0;
};

/// What was lost, of one run or of all.
/// \throws Error  as runs()
LossesTable losses(const store::RunReader& reader, std::optional<RunId> run = {});

struct EnvironmentTable {
    store::RunRecord run = {};
    std::vector<EnvironmentEntry> rows = {};
};

/// The machine and settings of a run.
/// \throws Error  as runs()
EnvironmentTable environment(const store::RunReader& reader, std::optional<RunId> run = {});

/// The run that is named, or all.
/// \throws Error  as runs()
std::vector<store::RunRecord> chooseRuns(const store::RunReader& reader, std::optional<RunId> run);

/// The same by number.
std::vector<RunId> chooseRunIds(const store::RunReader& reader, std::optional<RunId> run);

/// The run that a question about "the run" means: the one named, else the file's last.
/// \throws Error  where the file has no such run (names those that are there) or none at all
store::RunRecord chooseRun(const store::RunReader& reader, std::optional<RunId> run);

} // namespace tilescope::query
