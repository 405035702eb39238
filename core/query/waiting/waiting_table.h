#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/analysis/waiting/host_cause.h"
#include "core/query/waiting/waiting_records.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What the rows of a WaitingTable are.
enum class WaitingGroup : std::uint8_t {
    Line,      ///< the innermost line of the program itself
    Innermost, ///< the innermost line, also one of a library
    Function,  ///< the innermost function, likewise, or recorded op
    Place,
    Cause,
    Thread
};
std::string_view wordOf(WaitingGroup group);
/// \throws Error (Usage)  there is no such group; names those that there are
WaitingGroup waitingGroupOf(std::string_view word);

/// A line of code that runs.
struct CodeLine {
    std::string file = {};
    std::int64_t line = 0; ///< 0: unknown
    std::string function = {};
    std::int64_t firstLine = 0; ///< of the function; 0: unknown
};

/// The part of a row's time in which the host did one thing.
struct CauseTime {
    analysis::HostCause cause = analysis::HostCause::Unexplained;
    double time = 0;                                           ///< ns
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< of `time`, 95 %; none: it is exact
};

/// Idle time of the GPUs of a process, and what the host did meanwhile. Members without a value do not apply to the row.
struct WaitingRow {
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
    std::string title = {}; ///< of the process: rank 1, python 4711; empty in a run of one process
    std::string cause = {}; ///< word of the cause with most of it; empty: of a place or thread
    std::vector<CauseTime> causes = {}; ///< of lines and functions, and of what has neither; add up to `idle`
    std::optional<CodeLine> line = {};  ///< that ran; of a place: of the launch before
    std::optional<CodeLine> next = {};  ///< of a place: of the launch that ended the wait
    std::string thread = {};            ///< that launches
    std::int64_t steps = 0;             ///< of the process, that `idle` is of; 0: not of steps
    Nanoseconds idle{0};
    double share = 0;                                          ///< of the idle time of the process
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< of `idle` in ns, 95 %; none: it is exact
    std::optional<std::int64_t> samples = {};
    std::optional<std::int64_t> count = {}; ///< idle intervals
    std::optional<Nanoseconds> median = {}; ///< of them
    std::optional<Nanoseconds> longest = {};
    std::optional<std::int64_t> most =
        {};                ///< how many of the intervals, the longest first, take 90 % of the time
    std::string work = {}; ///< of a place: the kernel, copy or memset that ended the longest
    std::string calls =
        {}; ///< CUDA calls that are part of `idle`, the longest first: cudaMemcpyAsync, cudaEventQuery
};

/// The idle time of one of several GPUs.
struct GpuIdle {
    std::string title = {}; ///< rank 1; of a process with several GPUs rank 1 GPU 0, or GPU 0
    Nanoseconds idle{0};
    Nanoseconds busy{0};
    std::int64_t steps = 0; ///< that they are of; 0: not of steps

    double perStep(Nanoseconds time) const { return meanPerStep(time, steps); }
};

struct WaitingTable {
    store::RunRecord run = {};
    WaitingGroup group = WaitingGroup::Line;
    std::vector<WaitingRow> rows = {}; ///< the longest first; their times add up to `idle`
    std::optional<TimeSpan> span = {}; ///< `idle` is of this part of the recording
    Nanoseconds idle{0};               ///< of all GPUs
    Nanoseconds busy{0};               ///< likewise
    std::vector<GpuIdle> gpus = {};    ///< by process and number
    analysis::HostLead lead = {};      ///< of all processes
    std::vector<PeerWait> peers = {};  ///< the longest first
    StepChoice choice = {};            ///< of these steps
    std::int64_t steps = 0;            ///< that `idle` is of; 0: the whole recording, or `span`
    std::int64_t processSteps = 1;     ///< the same, each once for each process; without steps the processes
    std::int64_t samples = 0;          ///< in idle time
    double lateShare = 0;              ///< of them whose wake-up was late
    std::string whyEmpty = {};         ///< why there are no rows

    /// Whether the rows are of several processes.
    bool isOfSeveral() const;

    /// The GPUs hardly wait, but the host's own work takes longer than theirs: they will wait as soon as theirs gets faster, or
    /// the host's lead is used up.
    bool isHostBoundNext() const;
    /// Time of a mean step of its process, or of everything, ns.
    static double perStep(const WaitingRow& row)
    {
        return perStep(row, static_cast<double>(row.idle.count()));
    }
    static double perStep(const WaitingRow& row, double time) { return meanPerStep(time, row.steps); }
    /// The same of a sum over all processes: for the mean GPU.
    double perGpuStep(Nanoseconds time) const;
    /// The same for the mean process, ns.
    double perProcessStep(Nanoseconds time) const { return meanPerStep(time, processSteps); }
};

/// Why the GPUs were idle, of each process.
WaitingTable waitingTable(const WaitingRecords& records, WaitingGroup group);
/// \throws Error  as waitingRecords()
WaitingTable waiting(const store::RunReader& reader, const WaitingScope& scope, WaitingGroup group);

} // namespace tilescope::query
