#pragma once

#include "core/analysis/time/busy_time.h"

#include <cstdint>
#include <span>

namespace tilescope::analysis {

/// What a device event works on.
enum class DeviceWork : std::uint8_t {
    Compute,
    Communication, ///< between processes or GPUs
    Copy,          ///< other copies, and memsets
};
inline constexpr std::size_t kDeviceWorks = 3;

/// The kind of work of a copy or memset. A copy between GPUs is communication.
inline DeviceWork workOfCopy(CopyKind copy)
{
    return copy == CopyKind::PeerToPeer ? DeviceWork::Communication : DeviceWork::Copy;
}

/// The parts of a device's busy time. All but `overlapped` are disjoint and add up to it.
///
/// An instant belongs to the first matching part: a compute kernel runs, communication runs, a copy or memset runs.
/// Communication beside a compute kernel therefore counts as compute; `overlapped` is the amount of such time.
struct BusyParts {
    Nanoseconds compute{0};
    Nanoseconds exposedCommunication{0}; ///< without a compute kernel
    Nanoseconds exposedCopies{0};        ///< without a compute kernel or communication
    Nanoseconds overlapped{0};           ///< communication beside a compute kernel; contained in `compute`

    bool operator==(const BusyParts&) const = default;
};

/// \param wall  only time within it counts
/// \param compute, communication, copies  results of unionOf()
/// O(n).
BusyParts partitionBusy(Interval wall, std::span<const Interval> compute,
                        std::span<const Interval> communication, std::span<const Interval> copies);

} // namespace tilescope::analysis
