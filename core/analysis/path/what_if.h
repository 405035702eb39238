#pragma once

#include "core/analysis/path/recorded_graph.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A change of a recording.
struct PathChange {
    /// How many times as long an activity of a source takes; 1 if it does not change.
    std::function<double(const PathSource&)> factorOf = [](const PathSource&) { return 1.0; };
    /// The host takes no time to launch, as if a CUDA graph replayed the steps: ops, launch calls, Python and the
    /// latency of launches. Data loading, and calls that wait, remain.
    bool freeLaunches = false;
    bool freeCommunication = false; ///< transfers take no time; ranks still wait for each other
};

/// The times of all activities of a recording after a change. Order on streams and threads, recorded waits, the lead of the
/// host over the device and the gaps between kernels remain. Without a change they are those recorded, exactly.
/// O(n).
std::vector<Interval> changedTimes(const RecordedGraph& recorded, const PathChange& change);

/// A step of one process.
struct RecordedStep {
    std::int32_t step = kNoStep; ///< none: the whole recording
    ProcessIndex process = {};
    ThreadId thread = {}; ///< of its range
    Interval wall{};      ///< as StepWalls has it
    Interval host{};      ///< of its range
};

/// The wall times of the steps of one process after a change, by the rule of StepWalls.
/// \param steps  in order of time
/// \param times  of changedTimes()
/// O(activities + steps log activities).
std::vector<Interval> changedWalls(const RecordedGraph& recorded, std::span<const RecordedStep> steps,
                                   std::span<const Interval> times);

} // namespace tilescope::analysis
