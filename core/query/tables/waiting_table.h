#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/analysis/waiting/host_cause.h"
#include "core/query/runs/party_filter.h"
#include "core/query/tables/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What the rows of a WaitingTable are.
enum class WaitingGroup : std::uint8_t { Line, Function, Place, Cause, Thread };
std::string_view wordOf(WaitingGroup group);
/// \throws Error (Usage)  there is no such group; names those that there are
WaitingGroup waitingGroupOf(std::string_view word);

struct WaitingQuery {
    std::optional<RunId> run = {};         ///< none: the last run of the file
    PartyQuery parties = {};               ///< only this process; no device
    std::optional<std::int32_t> step = {}; ///< only this step
    WaitingGroup group = WaitingGroup::Line;
};

/// A line of code that runs.
struct CodeLine {
    std::string file = {};
    std::int64_t line = 0; ///< 0: unknown
    std::string function = {};
};

/// Idle time of the GPUs of a process, and what the host did meanwhile. Members without a value do not apply to the row.
struct WaitingRow {
    std::optional<std::int32_t> rank = {};
    std::string cause = {};            ///< word of the cause with most of it; empty: of a place or thread
    std::optional<CodeLine> line = {}; ///< that ran; of a place: of the launch before
    std::optional<CodeLine> next = {}; ///< of a place: of the launch that ended the wait
    std::string thread = {};           ///< that launches
    Nanoseconds idle{0};
    double share = 0;                                          ///< of the idle time of the process
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< of `idle` in ns, 95 %; none: it is exact
    std::optional<std::int64_t> samples = {};
    std::optional<std::int64_t> count = {}; ///< idle intervals
    std::optional<Nanoseconds> median = {}; ///< of them
    std::optional<Nanoseconds> longest = {};
};

struct WaitingTable {
    store::RunRecord run = {};
    WaitingGroup group = WaitingGroup::Line;
    std::vector<WaitingRow> rows = {}; ///< the longest first; their times add up to `idle`
    Nanoseconds idle{0};
    Nanoseconds busy{0};
    StepChoice choice = {};    ///< of these steps
    std::int64_t steps = 0;    ///< that `idle` is of; 0: the whole recording
    std::int64_t samples = 0;  ///< in idle time
    double lateShare = 0;      ///< of them whose wake-up was late
    bool hasStacks = false;    ///< the run recorded the stacks of threads
    bool hasStep = true;       ///< the step that was asked for is in the run
    std::string recorded = {}; ///< what the recorder says of the stacks; empty: nothing
};

/// Why the GPUs were idle, of each process.
/// \throws Error  there is no such run, rank or process; a device is asked for
WaitingTable waiting(const store::RunReader& reader, const WaitingQuery& query);

} // namespace tilescope::query
