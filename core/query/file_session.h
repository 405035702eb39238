#pragma once

#include "core/model/run.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_params.h"
#include "core/query/runs/run_tables.h"
#include "core/query/timeline/item_details.h"
#include "core/query/timeline/item_links.h"
#include "core/query/timeline/timeline.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Returns true if the caller no longer needs the answer. Called between pieces of work, on the worker's
/// thread.
using Cancelled = std::function<bool()>;

/// A run as shown in lists.
struct RunSummary {
    RunId run;
    std::string uid;
    std::string name;
    std::string workload;
    std::string specHash = {};                     ///< of all keys except name and timeout
    RunParams params;                              ///< resolved keys of the spec
    std::optional<analysis::Statistics> step = {}; ///< wall time of the timed steps, ms
    /// Of recordings and imports, which have no timed steps: the mean typical step of all processes, ms.
    std::optional<double> tracedStep = {};
    /// The same by number of the step: the mean of the processes that have it.
    std::map<std::int32_t, double> tracedSteps = {};
    std::vector<ProcessChoice> processes = {}; ///< by rank; empty: there is one process
    std::vector<PhaseTimes> phases = {};
    RunResult result = {};
    std::int64_t startedUnixNs = 0;
    std::string note;
    std::string tag;

    const RunWorkload& traits() const { return runWorkload(workload); }
    /// A resolved key as text; empty if the run has no such key.
    std::string_view param(std::string_view key) const;
};

/// The runs of a file at one moment. Published as shared_ptr<const> and immutable.
struct FileSnapshot {
    std::filesystem::path file;
    std::vector<RunSummary> runs; ///< in the order of their numbers

    /// The run with that number, or null. O(log runs).
    const RunSummary* find(RunId run) const;
};

/// Reads data for the window from a file, through its own connection. One thread at a time.
/// \throws Error  from any member: the file is not a recording, is damaged or has a newer format
class FileSession {
public:
    explicit FileSession(const std::filesystem::path& file);
    ~FileSession();
    FileSession(const FileSession&) = delete;
    FileSession& operator=(const FileSession&) = delete;

    /// \param before  an earlier result; only its runs that may have changed are read again
    FileSnapshot snapshot(const FileSnapshot* before = nullptr) const;
    /// All lanes of a run but those of Python's stacks; null if cancelled.
    std::shared_ptr<const Timeline> timeline(RunId run, const Cancelled& cancelled) const;
    /// Whether the run has stacks of Python: calls, or samples.
    bool hasStacks(RunId run) const;
    /// The timeline with the lanes of Python's stacks; the same object if the run has none; null if cancelled.
    std::shared_ptr<const Timeline> withFrames(RunId run, const std::shared_ptr<const Timeline>& timeline,
                                               const Cancelled& cancelled) const;
    ItemDetails details(RunId run, const Timeline& timeline, const TimelineItem& item) const;
    /// The boxes that launch and autograd connect with a box; empty if cancelled.
    ItemLinks links(RunId run, const Timeline& timeline, const TimelineItem& item,
                    const Cancelled& cancelled) const;
    /// The allocations at the run's peak.
    LiveMemoryTable liveAtPeak(RunId run) const;

    /// The connection, for functions that take a reader. Valid as long as the session.
    const store::RunReader& reader() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace tilescope::query
