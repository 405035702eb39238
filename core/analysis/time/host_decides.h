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

/// Who decides how long a device takes for its work.
enum class Decider : std::uint8_t { Device, Host, OtherProcess };

using StepDeciders = std::map<std::int32_t, Decider>; ///< by step

/// Who decides in the steps of each process, of processes that take part in the same collectives or of one. With half of the time for
/// all work, a device that does not decide would begin the last work of the step earlier by less than a tenth of what that saves, seen
/// from the last work of the step before. A GPU that is busy for 97 % of the time may wait for each of its launches all the same; for a
/// loader of data, though it works on as soon as a step begins; or for another process, while it works on something else.
///
/// Each stream executes its work in order, each piece not before its launch and the shortest time that a launch takes; the host
/// launches as recorded, but earlier by what its waits become shorter. A collective begins when its last process arrives. Waits of
/// streams for each other are left out. Where nothing is known of launches, the device decides. If no
/// synchronization was recorded, nobody knows whether the host waits between steps: each is seen from its own first work.
/// O(n log n).
std::vector<StepDeciders> deciders(std::span<const QueuedProcess> processes);

} // namespace tilescope::analysis
