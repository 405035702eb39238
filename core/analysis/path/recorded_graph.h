#pragma once

#include "core/analysis/path/recording_view.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// The activities of a recording and what they depend on.
struct RecordedGraph {
    ActivityGraph graph;
    std::vector<PathSource> sources; ///< by Activity::source

    const PathSource& sourceOf(std::uint32_t activity) const
    {
        return sources[graph.activities()[activity].source];
    }
    /// The activity with which a step ends at `end`: what the thread of its range was doing; if the thread was done
    /// earlier, what the process ran last on its devices. None if neither did anything.
    std::optional<std::uint32_t> lastOf(ProcessIndex process, ThreadId thread, Timestamp end) const;

    /// Activities by end, ascending.
    using Ends = std::vector<std::pair<Timestamp, std::uint32_t>>;
    std::unordered_map<ThreadId, Ends> byThread;
    std::map<ProcessIndex, Ends> byDevice;
};

/// DeviceActivities and HostActivities say what depends on what; a kernel also depends on what its thread did until it
/// launched it.
/// O(n log n). Some 200 bytes for each event.
RecordedGraph recordedGraph(const RecordingView& view);

} // namespace tilescope::analysis
