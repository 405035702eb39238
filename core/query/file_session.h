#pragma once

#include "core/model/run.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/run_tables.h"
#include "core/query/tables/kernel_tables.h"
#include "core/query/timeline/item_details.h"
#include "core/query/timeline/item_links.h"
#include "core/query/timeline/timeline.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Whether the caller still wants the answer; asked between pieces of work, on the worker's thread.
using Cancelled = std::function<bool()>;

/// A run as lists show it.
struct RunSummary {
    RunId run;
    std::string uid;
    std::string name;
    std::string workload;
    std::string specHash = {};                               ///< of all keys but name and timeout
    std::vector<std::pair<std::string, std::string>> params; ///< resolved keys of the spec, as text
    std::optional<analysis::Statistics> step = {};           ///< wall time of the timed steps, ms
    std::vector<PhaseTimes> phases = {};
    RunResult result = {};
    std::int64_t startedUnixNs = 0;
    std::string note;
    std::string tag;

    /// A resolved key as text; empty where the run has none of that name.
    std::string_view param(std::string_view key) const;
};

/// The runs of a file at one moment. Published as shared_ptr<const>, never changed after.
struct FileSnapshot {
    std::filesystem::path file;
    std::vector<RunSummary> runs; ///< in the order of their numbers

    /// The run of that number; null where there is none. O(log runs).
    const RunSummary* find(RunId run) const;
};

/// What the window reads of a file, over one connection of its own. One thread at a time.
/// \throws Error  from any member: not ours, damaged, newer
class FileSession {
public:
    explicit FileSession(const std::filesystem::path& file);
    ~FileSession();
    FileSession(const FileSession&) = delete;
    FileSession& operator=(const FileSession&) = delete;

    /// \param before  an earlier answer, of whose runs only those that may have changed are read again
    FileSnapshot snapshot(const FileSnapshot* before = nullptr) const;
    /// All lanes of a run; null where cancelled.
    std::shared_ptr<const Timeline> timeline(RunId run, const Cancelled& cancelled) const;
    ItemDetails details(RunId run, const Timeline& timeline, const TimelineItem& item) const;
    /// What a box is tied to by launch and by autograd; nothing where cancelled.
    ItemLinks links(RunId run, const Timeline& timeline, const TimelineItem& item,
                    const Cancelled& cancelled) const;
    /// Device activities added up by range, phase, module or op.
    KernelsTable kernelGroups(RunId run, Grouping grouping) const;
    /// What is allocated at the run's peak.
    LiveMemoryTable liveAtPeak(RunId run) const;

    /// The connection itself, for the functions of this layer that take one; valid as long as the session.
    const store::RunReader& reader() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace tilescope::query
