#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/analysis/waiting/idle_places.h"

#include <cstdint>
#include <span>

namespace tilescope::analysis {

/// How far a host is ahead of its devices.
struct HostLead {
    std::int64_t launches = 0;
    Nanoseconds lead{0}; ///< over all launches: from the launch to the start of its work
    Nanoseconds work{
        0}; ///< that the host needs: from the first launch of a window to its last, without `waits`

    Nanoseconds mean() const { return launches > 0 ? lead / launches : Nanoseconds{0}; }
};

/// \param work     of all devices of a process
/// \param waits    calls of its threads in which the host waits for a device: synchronizations, and launches that found a full
///                 queue
/// \param windows  steps; disjoint, in order. Empty: one window, all of the time. Of several threads that launch in a window,
///                 the one with most work counts.
/// O((work + waits) log (work + waits))
HostLead hostLead(std::span<const LaunchedWork> work, std::span<const CudaCall> waits,
                  std::span<const Interval> windows);

} // namespace tilescope::analysis
