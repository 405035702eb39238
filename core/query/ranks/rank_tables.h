#pragma once

#include "core/analysis/ranks/gather_slack.h"
#include "core/analysis/ranks/rank_step.h"
#include "core/analysis/ranks/straggler.h"
#include "core/model/collective_bandwidth.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/query/work/link_rate.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// Selects the rows of the tables of ranks and collectives.
struct RankQuery {
    std::optional<RunId> run = {};         ///< none: the last run of the file
    ProcessQuery topology = {};            ///< only rows and figures of this process; no device
    std::optional<std::int32_t> step = {}; ///< only rows of this step
    std::optional<TimeSpan> span = {};     ///< only the parts of steps, and the collectives, that overlap it
};

/// Where the wall time of a step of a rank went, and how late the rank was.
struct RankRow {
    std::int32_t step = 0;                 ///< kNoStep: the recording has no steps and counts as one
    ProcessIndex process = {};             ///< none in a run of one process
    std::string title = {};                ///< "rank 1", "python 4711"; empty in a run of one process
    std::optional<std::int32_t> rank = {}; ///< none if the process is not part of a group
    ProcessNumbers numbers = {};
    std::string host = {};    ///< empty: unknown
    std::string leftOut = {}; ///< why the step is not typical (StepChoice); empty: it is
    analysis::RankStep parts = {};
    /// Of the rank within the timed steps; of imports and recordings, in all events. None: not recorded.
    std::optional<Bytes> peakAllocated = {};
    std::optional<Nanoseconds> late = {}; ///< wait of others for it; none: no complete collective
    bool isLast = false;                  ///< it was later than all other ranks
};

/// The part of one rank in a collective.
struct CollectiveRank {
    ProcessIndex process = {};
    std::string title = {}; ///< like that of RankRow
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
    DeviceIndex device = {}; ///< none: on the host
    StreamId stream = {};
    CorrelationId correlation = {};
    Timestamp start{};
    Nanoseconds duration{0};
    Nanoseconds wait{0};        ///< time that it waited for the rank that started last
    Nanoseconds waitExposed{0}; ///< of it, without a compute kernel of the rank
    Nanoseconds exposed{0};     ///< without a compute kernel of the rank
    std::optional<analysis::GatherSlack> slack = {};
    std::string neededBy = {}; ///< the kernel or copy of `slack`
};

struct CollectiveRow {
    std::int32_t step = kNoStep;
    std::string leftOut = {};   ///< why the step is not typical for its first rank (StepChoice); empty: it is
    std::int64_t sequence = -1; ///< within the group; -1: unknown
    std::string group = {};     ///< empty: unknown
    std::string op = {};
    std::string range = {};                   ///< attributed path of its first rank, from step down
    std::optional<Bytes> bytes = {};          ///< message of one rank
    std::int32_t groupSize = 0;               ///< number of ranks in the group; 0: unknown
    std::vector<CollectiveRank> ranks = {};   ///< those that recorded it
    std::vector<std::int32_t> missing = {};   ///< ranks of the group that did not
    std::int32_t missingCount = 0;            ///< may be known where their numbers are not
    std::optional<Nanoseconds> transfer = {}; ///< of analysis::CollectiveTiming
    std::string last = {};                    ///< title of the rank that started last; empty: unknown
    std::optional<std::int32_t> lastRank = {};
    Nanoseconds late{0}; ///< of that rank, where it began
    std::optional<Bandwidth> bandwidth = {};

    /// Of all ranks.
    /// \pre  there is one
    Timestamp firstStart() const;
    /// Sums and means over `ranks`.
    Nanoseconds wait() const;
    Nanoseconds exposed() const;    ///< mean
    Nanoseconds overlapped() const; ///< mean
    /// The rank whose stream waited longest for a gather or, if none waited, the rank with the least slack;
    /// null if no slack is known.
    const CollectiveRank* tightest() const;
};

/// Whether one rank of a group of ranks is late in step after step.
struct GroupVerdict {
    std::string group = {}; ///< as collectives name it
    std::string name = {};  ///< of the rank that was last most often; empty: none
    analysis::StragglerVerdict verdict = {};
};

/// The activity of the ranks of a run, by step and by collective.
struct RanksTable {
    store::RunRecord run = {};
    std::optional<TimeSpan> span = {};
    std::size_t rankCount =
        0; ///< processes with a rank, which a launcher lacks; all if none has one; at least 1
    std::vector<RankRow> rows = {};              ///< by step, then rank
    std::vector<CollectiveRow> collectives = {}; ///< by the start of their first rank
    analysis::StragglerVerdict straggler = {};
    std::string stragglerName = {};                   ///< "rank 1"; empty if no rank was last most often
    std::size_t hostCount = 0;                        ///< 0: not all are known
    analysis::StragglerVerdict lateHost = {};         ///< of hosts with several ranks
    std::string lateHostName = {};                    ///< like stragglerName
    std::vector<GroupVerdict> groups = {};            ///< if the collectives are of several groups, by name
    std::int64_t incomplete = 0;                      ///< collectives with missing ranks
    std::int64_t disjoint = 0;                        ///< whose ranks do not overlap in time
    std::int64_t pointToPoint = 0;                    ///< records of sends and receives, which have no row
    std::optional<Nanoseconds> clockUncertainty = {}; ///< the largest of several clocks
    std::optional<LinkRate> link = {};
    /// False if neither kernels nor ops were recorded: compute, exposed communication and idle time are unknown.
    bool isComputeKnown = true;
    std::int64_t rowsOfRun = 0;        ///< before selection
    std::int64_t collectivesOfRun = 0; ///< before selection

    /// Whether a rank is late, in a sentence.
    std::string sentence() const;
    /// The same of hosts, and of the groups of ranks that communicate: empty where there is one, or where hosts are unknown
    /// or have one rank each.
    std::string hostSentence() const;
    std::string groupSentence() const;
    /// The rows that means are of: those of typical steps, or all if none is typical.
    std::vector<const RankRow*> meanRows() const;
    /// Their mean: its wall begins at 0. None without rows.
    std::optional<analysis::RankStep> meanStep() const;
    /// Whether the collectives belong to several groups, each of which numbers its own.
    bool hasSeveralGroups() const;
    /// Bus bandwidth as a share of the link, per cent; none if one of them is unknown.
    std::optional<double> linkPercent(const CollectiveRow& row) const;
};

/// Reads the whole run: every rank and step counts for the verdict and for lateness, whatever is selected.
///
/// Memory grows with the number of collectives and, if there are all-gathers, of kernels (80 bytes each).
/// \param cancelled  ends the reading early; the table is then without rows
/// \throws Error  no such run, rank or process; a device is asked for
RanksTable ranks(
    const store::RunReader& reader, const RankQuery& query,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
