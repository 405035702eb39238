#pragma once

#include "core/analysis/path/activity_graph.h"

#include <optional>
#include <vector>

namespace tilescope::analysis {

/// A stretch of a critical path.
struct PathSegment {
    Interval time{};
    PathPart part = PathPart::Unexplained;
    std::optional<std::uint32_t> activity = {}; ///< the running activity; none: the path waits
    std::optional<std::uint32_t> next = {};     ///< where the path waits: the activity that starts at the end
    std::optional<Cause> cause = {};            ///< why `activity`, or otherwise `next`, is on the path
};

/// The chain of activities that determines when a step ends: each starts when its binding constraint allows it.
///
/// The path is found by walking back from `last` along binding constraints. Its segments are disjoint, in order of time,
/// and cover `wall` exactly. A lag counts as launch latency during the launch call and up to 50 µs after it,
/// and up to 20 µs after other work on a device. Between threads, up to 1 ms counts as host time. The rest
/// of a longer lag, and time that no constraint explains, is Unexplained.
/// \param last  the activity with which the wall time ends
/// O(length of the path).
std::vector<PathSegment> criticalPath(const ActivityGraph& graph, std::uint32_t last, Interval wall);

/// The parts of a path; they add up to its length.
PathParts partsOf(const std::vector<PathSegment>& path);

} // namespace tilescope::analysis
