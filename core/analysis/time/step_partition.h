#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// The parts of the wall time of one traced step. They are disjoint and add up to it exactly.
struct StepPartition {
    Interval wall{};
    Nanoseconds gpuBusy{0};       ///< at least one device event was running
    Nanoseconds launching{0};     ///< GPU idle; the host has not come to its next launch or wait
    Nanoseconds synchronizing{0}; ///< GPU idle; the host is in a call that waits for it
    Nanoseconds tracing{0};       ///< GPU idle; the host is in known work of the tracer
    Nanoseconds unexplained{0};   ///< GPU idle for no recorded reason
};

/// Partitions the wall time of a step by recorded events, without fitting.
///
/// An instant at which the GPU is idle belongs to the first matching part: it lies in `unrecorded`, and is
/// unexplained; a tracing overhead covers it; the host is in a synchronizing call; it is before the return of the
/// step's last launch or the start of its last synchronizing call, so that the host has not reached its next call
/// (preparing a launch, or freeing the graph after backward); it is after the last work in the step, and so the host has not come
/// to its next launch, provided that launches or waits were recorded; otherwise it is unexplained.
///
/// \param wall    the step's host range
/// \param device  events of the run, in any order; events outside the step are ignored
/// \param calls   CUDA calls of the run, in any order: synchronizing ones, overheads and, with trace: full,
///                launches
/// \param unrecorded  a result of UnrecordedWork::times(): work that was launched long before does not begin
/// \param done    when the last work of the step ended, where `wall` is only a part of it
/// O(n log n).
StepPartition partitionStep(Interval wall, std::span<const DeviceEvent> device,
                            std::span<const ApiCall> calls, std::span<const Interval> unrecorded = {},
                            std::optional<Timestamp> done = {});

/// What limits a step.
enum class StepVerdict : std::uint8_t {
    GpuBound,
    LaunchBound,
    SyncBound,
    TracingBound,
    Unexplained,
    Cpu,
    Unjudged,  ///< activities of the step are missing or have impossible times
    DataBound, ///< launch-bound, and the host loads data for most of it
    RankBound, ///< GPU-bound, but for less of the step than that without collectives that wait for other ranks
};

std::string_view wordOf(StepVerdict verdict); ///< GPU-bound, launch-bound, …

/// GPU-bound if the GPU is busy for at least 85 % of the wall time, otherwise the largest reason for idle
/// time. Unjudged without any activity of the GPU.
StepVerdict verdictOf(const StepPartition& step);

/// The shares that determine the verdict: `GPU busy 62.1 %, idle 36.0 % while the host prepares launches`.
std::string explain(const StepPartition& step);

} // namespace tilescope::analysis
