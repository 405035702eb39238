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
    /// By activity: it takes no time, its launch has no latency, and what follows it on the device follows without a gap.
    /// removedActivities() has it. Empty: all remain.
    std::vector<bool> removed = {};
};

/// The activities that do not happen if a program leaves out some work: the work itself and the host's time for it.
///
/// The host's time for a launch is that of its thread from the launch before, or from the end of a call that waits, of the
/// loading of data or of a collective, if that is later. It goes if all that the launch starts is left out. What a thread
/// does after its last launch before it waits remains.
/// \param isLeftOut  of kernels and copies, or on a CPU of ops
/// \param steps      starts of steps on the host, ascending: the time before a step is not for a launch in it
/// O(n).
std::vector<bool> removedActivities(const RecordedGraph& recorded,
                                    const std::function<bool(const PathSource&)>& isLeftOut,
                                    std::span<const Timestamp> steps);

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
