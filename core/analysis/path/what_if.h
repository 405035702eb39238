#pragma once

#include "core/analysis/path/recorded_graph.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A hypothetical change of a recording.
struct PathChange {
    /// The factor by which the duration of an activity is multiplied; 1 leaves it unchanged.
    std::function<double(const PathSource&)> factorOf = [](const PathSource&) { return 1.0; };
    /// The host takes no time to launch, as if a CUDA graph replayed the steps: ops, launch calls, Python and
    /// launch latency take no time. Data loading and waiting calls remain.
    bool freeLaunches = false;
    bool freeGaps = false;          ///< work on a device follows other work without a gap
    bool freeCommunication = false; ///< transfers take no time; ranks still wait for each other
    /// By activity, a result of removedActivities(): a removed activity takes no time, its launch has no
    /// latency, and the next activity on the device follows without a gap. Empty: all remain.
    std::vector<bool> removed = {};
};

/// The activities that disappear if a program leaves out some work: the work itself and the host's time to launch it.
///
/// The host's time for a launch is the time of its thread since the previous launch or, if later, since the end of a
/// waiting call, of data loading or of a collective. It disappears if everything that the launch starts is left out.
/// The time between a thread's last launch and its next wait remains.
/// \param isLeftOut  whether a kernel or copy, or on a CPU an op, is left out
/// \param steps      starts of steps on the host, ascending: time before a step never belongs to a launch in it
/// O(n).
std::vector<bool> removedActivities(const RecordedGraph& recorded,
                                    const std::function<bool(const PathSource&)>& isLeftOut,
                                    std::span<const Timestamp> steps);

/// The times of all activities of a recording after a change. The order on streams and threads, recorded waits, the lead of
/// the host over the device and the gaps between kernels remain. Without a change, the result is exactly the recorded times.
/// O(n).
std::vector<Interval> changedTimes(const RecordedGraph& recorded, const PathChange& change);

/// A step of one process.
struct RecordedStep {
    std::int32_t step = kNoStep; ///< none: the whole recording
    ProcessIndex process = {};
    ThreadId thread = {}; ///< thread of its range; none: the step is a time of the device
    Interval wall{};      ///< wall time by StepWalls
    Interval host{};      ///< its range on the host; of the device, `wall`
};

/// The wall times of the steps of one process after a change, by the rule of StepWalls.
/// \param steps  in order of time
/// \param times  a result of changedTimes()
/// O(activities + steps log activities).
std::vector<Interval> changedWalls(const RecordedGraph& recorded, std::span<const RecordedStep> steps,
                                   std::span<const Interval> times);

} // namespace tilescope::analysis
