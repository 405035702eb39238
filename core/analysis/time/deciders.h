#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Work of a device and when the host launched it; epoch: unknown.
struct QueuedWork {
    Interval time{};
    Timestamp launched{};
    StreamId stream = {};
    std::int32_t step = 0;
    std::optional<std::size_t> collective = {}; ///< a number that its other processes have, too
    Timestamp ready{};                          ///< of a collective: when its last process arrived
};

/// Work of a process.
struct QueuedProcess {
    std::span<const QueuedWork> works; ///< by start
    std::span<const Interval>
        waits; ///< times in which the host waited for the device, or for a place in its queue, by end
    bool synchronizes = true; ///< calls were recorded that wait for the device
};

/// What decides the time of a step: the device, the host that launches its work, or another process whose arrival its collectives wait
/// for.
enum class Decider : std::uint8_t { Device, Host, OtherProcess };

using StepDeciders = std::map<std::int32_t, Decider>; ///< by step

/// Replays the work of each process with all its durations halved, and compares the steps with the recorded ones. The device decides a
/// step if the replay shortens it, from the last work of the step before to its own last work, by at least a tenth of the time saved on
/// the work. Being busy is no proof: a GPU that is busy for 97 % of a step may still wait for every launch.
///
/// Model: a stream executes its work in order, and each piece starts no earlier than its launch plus the shortest launch latency of the
/// process. The host launches as recorded, but earlier by the time that its waits become shorter. A collective starts when its last
/// process arrives. Dependencies between streams are ignored. Without recorded launches the device decides. Without recorded
/// synchronizations it is unknown whether the host waits between steps, so each step is measured from its own first work.
///
/// \param processes  one, or those that take part in the same collectives
/// \return            one per process
/// O(n log n + w q) per replay and at most nine replays per process: n pieces of work, w waits, and q pieces that are outstanding when a
/// wait ends.
std::vector<StepDeciders> deciders(std::span<const QueuedProcess> processes);

} // namespace tilescope::analysis
