#pragma once

#include "core/analysis/path/activity_graph.h"

#include <optional>
#include <vector>

namespace tilescope::analysis {

/// A stretch of a critical path.
struct PathSegment {
    Interval time{};
    PathPart part = PathPart::Unexplained;
    std::optional<std::uint32_t> activity = {}; ///< that runs; none: the path waits
    std::optional<std::uint32_t> next = {};     ///< that starts at its end, where the path waits
    std::optional<Cause> cause = {};            ///< why it is on the path: of its activity or of `next`
};

/// The chain of activities that determines when a step ends: each starts when its binding constraint allows it.
///
/// The path is found by walking back from `last` along binding constraints. Its segments are disjoint, in order of time,
/// and cover `wall` exactly. A lag is launch latency while the launch call runs and up to 50 µs after it, and up to 20 µs
/// after other work on a device; it is host time up to 100 µs between threads. What is longer, and what no constraint
/// explains, is Unexplained.
/// \param last  the activity with which the wall time ends
/// O(length of the path).
std::vector<PathSegment> criticalPath(const ActivityGraph& graph, std::uint32_t last, Interval wall);

/// The parts of a path; they add up to its length.
PathParts partsOf(const std::vector<PathSegment>& path);

} // namespace tilescope::analysis
