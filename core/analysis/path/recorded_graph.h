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
    /// The activity with which a step ends at `end`: the one of the thread of its range or, if the thread
    /// finished earlier, the last one on the devices of the process. Without a thread, `end` is a time of the
    /// device: the activity that ends or begins then, or the last one. None if there is no such activity.
    std::optional<std::uint32_t> lastOf(ProcessIndex process, ThreadId thread, Timestamp end) const;

    /// The activity on a device of the process that begins at `time`.
    std::optional<std::uint32_t> startingAt(ProcessIndex process, Timestamp time) const;

    /// Activities by end, ascending.
    using Ends = std::vector<std::pair<Timestamp, std::uint32_t>>;
    std::unordered_map<ThreadId, Ends> byThread;
    std::map<ProcessIndex, Ends> byDevice;
};

/// Builds the graph. The dependencies are those of DeviceActivities and HostActivities; a kernel also depends
/// on the activity of the thread that launched it, until the launch.
/// O(n log n). About 200 bytes per event.
RecordedGraph recordedGraph(const RecordingView& view);

} // namespace tilescope::analysis
