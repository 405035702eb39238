#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Where the wall time of one traced step went: the parts are disjoint and add up to it, to the nanosecond.
struct StepPartition {
    Interval wall{};
    Nanoseconds gpuBusy{0};   ///< at least one device event was running
    Nanoseconds launching{0}; ///< GPU idle, and the host on its way to a launch, or to wait for the last one
    Nanoseconds synchronizing{0}; ///< GPU idle, and the host in a call that waits for it
    Nanoseconds tracing{0};       ///< GPU idle, and the host in what is known to be tracing's own work
    Nanoseconds unexplained{0};   ///< GPU idle, and nothing recorded says why
};

/// Partitions the wall of a step by what was recorded; nothing is fitted.
///
/// A nanosecond in which the GPU is idle belongs to the first of these that holds: a tracing overhead covers
/// it; the host is in a synchronising call; it lies before the return of the step's last launch or the start
/// of its last synchronising call, so that the host, being in none, is on its way to the next (preparing a
/// launch, or letting go of the graph that backward walked); else it is unexplained.
///
/// \param wall    the step's host range
/// \param device  events of the run, in any order; those that do not overlap the step are left out
/// \param calls   CUDA calls of the run, in any order: synchronising ones, overheads and, with trace: full,
///                launches
/// O(n log n).
StepPartition partitionStep(Interval wall, std::span<const DeviceEvent> device,
                            std::span<const ApiCall> calls);

/// What a step waits for.
enum class StepVerdict : std::uint8_t { GpuBound, LaunchBound, SyncBound, TracingBound, Unexplained, Cpu };

std::string_view wordOf(StepVerdict verdict); ///< GPU-bound, launch-bound, …

/// GPU-bound where the GPU is busy for at least 85 % of the wall; else by the largest part of what it idles
/// for.
StepVerdict verdictOf(const StepPartition& step);

/// The shares behind the verdict: `GPU busy 62.1 %, idle 36.0 % while the host launches`.
std::string explain(const StepPartition& step);

} // namespace tilescope::analysis
