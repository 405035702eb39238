#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/model/events.h"

#include <span>
#include <vector>

namespace tilescope::analysis {

/// Work of a device and when the host launched it; epoch: unknown.
struct QueuedWork {
    Interval time{};
    Timestamp launched{};
    StreamId stream = {};
};

/// Whether the host, and not the device, decides how long the device takes for `works`: with half of the time for all work,
/// the device would begin the last of them earlier by less than a tenth of what that saves before. A GPU that is busy for 97 % of the time may wait
/// for each of its launches all the same.
///
/// Each stream executes its work in order, each piece not before its launch and the shortest time that a launch takes; the host
/// launches as recorded, but earlier by what its waits become shorter. Waits of streams for each other are left out.
/// False where nothing is known of launches.
/// \param works  of one process, by start
/// \param waits  times in which the host waited for the device, or for a place in its queue, by end
/// O(n log n).
bool hostDecides(std::span<const QueuedWork> works, std::span<const Interval> waits);

} // namespace tilescope::analysis
