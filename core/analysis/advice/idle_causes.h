#pragma once

#include "core/analysis/advice/stake.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// Why a GPU is idle, in the order of precedence.
enum class IdleCause : std::uint8_t {
    Tracing,         ///< the host is in known work of the tracer
    StartUp,         ///< the host initialises CUDA, compiles, or loads kernels
    DataLoading,     ///< the host loads the next batch
    Allocating,      ///< the host is in a call that takes memory from the driver or returns it
    Synchronization, ///< the host waits for the GPU, or has not launched since it waited
    Launching,       ///< the host has not reached its next launch
    Unexplained,
};
inline constexpr std::size_t kIdleCauses = 7;

/// What the host did while the GPU was idle. The group of a time identifies its row of evidence: a call, a module
/// or a range.
struct IdleReasons {
    std::vector<Interval> unrecorded =
        {}; ///< a result of UnrecordedWork::times(): unexplained, whatever the host did
    std::vector<Interval> tracing = {};
    std::vector<GroupedTime> starting = {};
    std::vector<GroupedTime> loading = {};
    std::vector<GroupedTime> allocating = {};
    std::vector<GroupedTime> waiting = {};   ///< calls that wait for the GPU
    std::vector<GroupedTime> next = {};      ///< activities of the GPU; the gap before each is its group's
    std::vector<Timestamp> lastErrands = {}; ///< by wall: when the host last worked on something for the GPU
    /// When the host first launched or waited: from then on a GPU without work waits for the host, and before it is not known
    /// whether the host was recorded.
    Timestamp firstErrand = Timestamp::max();
};

/// The idle time of the GPU within `walls`, by cause. The causes are disjoint and add up to the idle time.
///
/// Tracing, the part of Synchronization within calls, and Unexplained equal those of partitionStep(). Synchronization also
/// includes the time from the end of a wait to the next activity of the GPU, but at most as long as the host waited for
/// work: without the wait it would have prepared the next launches meanwhile. What remains is Launching.
/// \param walls  disjoint, in start order
/// \param busy   a result of unionOf()
/// O(n log n).
std::array<Stake, kIdleCauses> idleCauses(std::span<const Interval> walls, std::span<const Interval> busy,
                                          IdleReasons reasons);

} // namespace tilescope::analysis
