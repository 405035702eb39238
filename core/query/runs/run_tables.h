#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/query/runs/generation_figures.h"
#include "core/query/runs/process_rank.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {

// Snapshots of a file for `show` and the window: plain, self-contained, immutable values, each computed by
// one call. A call uses the given reader on the caller's thread.

/// One measured phase of a run; `Phase::Step` is the whole step.
struct PhaseTimes {
    Phase phase = Phase::Step;
    std::optional<analysis::Statistics> wallMs = {}; ///< timed steps only
    std::optional<analysis::Statistics> gpuMs = {};  ///< none on a CPU
    /// Of mode generate: the number of each timed step, from 0, and its wall time, ms.
    std::vector<std::pair<std::int64_t, double>> tokensMs = {};
};

struct RunRow {
    store::RunRecord record = {};
    std::vector<PhaseTimes> phases = {};              ///< the measured phases, in the order of a step
    std::vector<double> warmupMs = {};                ///< wall time of each warm-up step
    std::optional<GenerationFigures> generation = {}; ///< of mode generate

    /// The wall time of the step; none if no step was timed.
    const std::optional<analysis::Statistics>& stepMs() const;
};

struct RunsTable {
    std::vector<RunRow> rows = {};
};

/// All runs of the file, or one.
/// \throws Error  there is no such run; lists the existing ones
RunsTable runs(const store::RunReader& reader, std::optional<RunId> run = {});

/// The runs with numbers from `first` to `last` inclusive, in order.
std::vector<RunRow> runs(const store::RunReader& reader, RunId first, RunId last);

/// The measurements of runs that were already read, in the same order.
std::vector<RunRow> runRows(const store::RunReader& reader, std::vector<store::RunRecord> records);

/// Run numbers in ascending order for a sentence: `1 to 4, 7`. Of many it names the first: `…, 28, 30 and 90 more`.
std::string listOf(const std::vector<RunId>& runs);

struct SampleRow {
    RunId run = {};
    RowProcess process = {};
    Sample sample = {};
};

struct SamplesTable {
    std::vector<SampleRow> rows = {};
};

/// Every sample, including warm-up and traced steps.
/// \throws Error  like runs()
SamplesTable samples(const store::RunReader& reader, std::optional<RunId> run = {});

struct LossRow {
    RunId run = {};
    store::RunReader::LossRecord loss = {};
};

struct LossesTable {
    std::vector<LossRow> rows = {};
    std::int64_t recordsChecked = 0;
};

/// The trace records lost in one run or in all.
/// \throws Error  like runs()
LossesTable losses(const store::RunReader& reader, std::optional<RunId> run = {});

/// What runs lack, in one sentence for wherever their figures are shown: "Run 3 is incomplete: 412 host records that
/// arrived faster than they were read, and 2 other kinds of losses." Counts losses of the severities error and warning.
/// \return  empty if nothing was lost
/// \throws Error  like runs()
std::string lossSentence(const store::RunReader& reader, std::optional<RunId> run = {});

struct EnvironmentTable {
    store::RunRecord run = {};
    std::vector<EnvironmentEntry> rows = {};
};

/// The machine and settings of a run; of an imported or recorded one first its contents and what it lacks.
/// \throws Error  like runs()
EnvironmentTable environment(const store::RunReader& reader, std::optional<RunId> run = {});

/// The given run, or all.
/// \throws Error  like runs()
std::vector<store::RunRecord> chooseRuns(const store::RunReader& reader, std::optional<RunId> run);

/// Like chooseRuns(), but only the numbers.
std::vector<RunId> chooseRunIds(const store::RunReader& reader, std::optional<RunId> run);

/// The given run, otherwise the last run of the file.
/// \throws Error  there is no such run (lists the existing ones), or the file has no runs
store::RunRecord chooseRun(const store::RunReader& reader, std::optional<RunId> run);

} // namespace tilescope::query
