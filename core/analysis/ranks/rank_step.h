#pragma once

#include "core/analysis/time/busy_parts.h"
#include "core/analysis/time/step_partition.h"

#include <span>

namespace tilescope::analysis {

/// Where the wall time of one step of one rank went. The denominator of every share is `wall`, the step's time by
/// StepWalls. All parts but `overlapped` are disjoint and add up to it exactly.
///
/// An instant belongs to the first matching part: a compute kernel runs; communication runs; a copy or memset
/// runs; the device is idle while the host prepares the next launch, is in a call that waits for the device,
/// or is in known work of the tracer (`launching`, `synchronizing` and `tracing` of StepPartition); otherwise
/// the rank is idle for no recorded reason.
struct RankStep {
    Interval wall{};
    Nanoseconds compute{0};
    Nanoseconds exposedCommunication{0}; ///< includes the time that a collective waits for other ranks
    Nanoseconds exposedCopies{0};
    Nanoseconds host{0};
    Nanoseconds idle{0};
    Nanoseconds overlapped{0}; ///< communication beside compute; contained in `compute`
};

/// The parts of a step of a rank on a GPU.
/// \param busy  the busy time of the same step; its parts add up to `step.gpuBusy`
RankStep rankStepOf(const StepPartition& step, const BusyParts& busy);

/// The parts of a step of a rank on a CPU: its ops are compute, its collectives communication, the rest is idle.
/// \param ops, collectives  results of unionOf(); O(n)
RankStep rankStepOnCpu(Interval wall, std::span<const Interval> ops, std::span<const Interval> collectives);

} // namespace tilescope::analysis
